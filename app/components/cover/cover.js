// Cover and see: patches are covered on the photo here in the browser; the answer and the maps that are left come from Python.

import { adoptChoices, fresh } from "../pending_choices.js"
import { palettes, smallMap } from "../explorer/explorer_attention_bytes.js"
import { changed, decodePatches, floats } from "./cover_tools_and_undo.js"
import { imageFor, scheduleCover } from "./cover_draw.js"
import { fillButtons, listenCover, wordsOf } from "./cover_pointer_and_keys.js"

const states = new WeakMap()

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector("figure")
  let s = states.get(parentElement)
  if (!s) {
    const start = { tool: "brush", size: 1, share: 0.3, history: { past: [], future: [] }, code: data.state.covered, images: new Map() }
    states.set(parentElement, (s = { ...fresh(data), ...start }))
  }
  s.send = value => setTriggerValue("chosen", value)
  if (s.root !== root) settleCover(s, root)
  adoptCover(s, data)
  return () => {
    s.observer.disconnect()
    clearTimeout(s.timer)
    cancelAnimationFrame(s.frame)
  }
}

// Into these elements: the first ones, or others that Streamlit has put in their place.
function settleCover(s, root) {
  s.observer?.disconnect()
  Object.assign(s, { root, hover: null, cursor: null, stroke: null, frame: 0 })
  s.observer = new ResizeObserver(() => scheduleCover(s))
  s.observer.observe(root)
  s.observer.observe(root.querySelector(".photo"))
  listenCover(s)
}

function adoptCover(s, data) {
  const before = s.data
  s.data = data
  adoptChoices(s, data)
  if (before && (before.key !== data.key || before.grid.rows !== data.grid.rows || before.grid.cols !== data.grid.cols)) {
    Object.assign(s, { history: { past: [], future: [] }, code: s.st.covered, cursor: null, stroke: null })
  } else if (s.st.covered !== s.code && !s.stroke) {
    s.history = changed(s.history, s.code) // a button of the page has covered others
    s.code = s.st.covered
  }
  if (!s.stroke) s.mask = decodePatches(s.code, data.grid)
  s.colours = palettes(data.colours)
  s.small = smallMap(data.grid.rows, data.grid.cols)
  s.object = floats(data.object)
  s.maps = Object.fromEntries(Object.entries(data.maps).map(([name, one]) => [name, { ...one, before: floats(one.before), after: one.after && floats(one.after) }]))
  const { root } = s, photo = root.querySelector("img")
  if (photo.getAttribute("src") !== data.photo) photo.src = data.photo
  root.style.setProperty("--ratio", String((data.grid.cols * data.grid.step[1]) / (data.grid.rows * data.grid.step[0])))
  for (const source of [data.photo, data.detail, data.layer]) imageFor(s, source)
  const named = JSON.stringify(data.fills)
  if (s.fills !== named || !root.querySelector("[data-fill]")) fillButtons(s)
  s.fills = named
  wordsOf(s)
  scheduleCover(s)
}
