// Components as switches: touched here in the browser; the answer and the map that are left come from Python.

import { adoptChoices, fresh } from "../pending_choices.js"
import { palettes, smallMap } from "../explorer/explorer_attention_bytes.js"
import { floatsOf, namesOff } from "./switches_state.js"
import { imageOf, scheduleSwitches } from "./switches_draw.js"
import { buildBoard, buildChoices, listenSwitches, sayOff } from "./switches_pointer_and_keys.js"

const states = new WeakMap()

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector("figure")
  let s = states.get(parentElement)
  if (!s) states.set(parentElement, (s = { ...fresh(data), images: new Map() }))
  s.send = value => setTriggerValue("chosen", value)
  if (s.root !== root) settleSwitches(s, root)
  adoptSwitches(s, data)
  return () => {
    s.observer.disconnect()
    clearTimeout(s.timer)
    cancelAnimationFrame(s.frame)
  }
}

// Into these elements: the first ones, or others that Streamlit has put in their place.
function settleSwitches(s, root) {
  s.observer?.disconnect()
  Object.assign(s, { root, frame: 0, built: "" })
  s.observer = new ResizeObserver(() => scheduleSwitches(s))
  s.observer.observe(root)
  listenSwitches(s)
}

function adoptSwitches(s, data) {
  s.data = data
  adoptChoices(s, data)
  s.off = namesOff(s.st.off)
  s.colours = palettes(data.colours)
  s.small = smallMap(data.grid.rows, data.grid.cols)
  s.map = { ...data.map, before: floatsOf(data.map.before), after: data.map.after && floatsOf(data.map.after) }
  for (const url of [data.photo, data.detail]) imageOf(s, url)
  const built = JSON.stringify([data.components, data.words, data.choices])
  if (s.built !== built) {
    buildBoard(s)
    buildChoices(s)
  }
  s.built = built
  sayOff(s)
  scheduleSwitches(s)
}
