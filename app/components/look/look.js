// The Look page: the photo and the paper's five pictures; what is pointed at lights up in all of them, here in the browser.

import { adoptChoices, fresh } from "../pending_choices.js"
import { decodeTable, palettes, smallMap } from "../explorer/explorer_attention_bytes.js"
import { schedule } from "./look_draw.js"
import { build, listen } from "./look_pointer_and_keys.js"

const states = new WeakMap()

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector("figure")
  let s = states.get(parentElement)
  if (!s) states.set(parentElement, (s = { ...fresh(data), images: new Map() }))
  s.send = value => setTriggerValue("chosen", value)
  s.data = data
  adoptChoices(s, data)
  if (s.root !== root) settle(s, root)
  const shape = JSON.stringify([data.mode, data.grid, data.heads, data.blocks, data.early, data.words, data.undefined, data.answer])
  if (shape !== s.shape) {
    s.table = decodeTable(data.span)
    s.colours = palettes(data.colours)
    s.signedRgb = Array.from(s.colours.signed, c => [c & 255, (c >> 8) & 255, (c >> 16) & 255])
    s.small = smallMap(data.grid.rows, data.grid.cols)
    s.lit = new Float32Array(data.grid.prefix + data.grid.rows * data.grid.cols)
    build(s)
  }
  s.shape = shape
  const photo = root.querySelector("img")
  if (photo.getAttribute("src") !== data.photo) photo.src = data.photo
  root.toggleAttribute("data-lecture", Boolean(data.lecture))
  schedule(s)
  return () => {
    s.observer.disconnect()
    for (const timer of [s.timer, s.saying]) clearTimeout(timer)
    cancelAnimationFrame(s.frame)
    cancelAnimationFrame(s.flying)
    cancelAnimationFrame(s.playing)
  }
}

// Into these elements: the first ones, or others that Streamlit has put in their place.
function settle(s, root) {
  s.observer?.disconnect()
  Object.assign(s, { root, hover: null, over: null, step: null, playing: 0, flying: 0, flown: 0, shape: "", wide: 0, tall: 0 })
  const left = root.querySelector(".left")
  s.observer = new ResizeObserver(() => {
    if (s.wide !== left.offsetWidth) Object.assign(s, { wide: left.offsetWidth, tall: 0 })
    s.tall = Math.max(s.tall, left.offsetHeight) // the highest so far: the photo stays where it is while a line below it comes and goes
    left.style.setProperty("--left-px", `${s.tall}px`)
    schedule(s)
  })
  for (const part of [root, left, ...root.querySelectorAll(".right section")]) s.observer.observe(part)
  listen(s)
}
