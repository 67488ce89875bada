// The attention explorer: point at a patch and all heads answer, drawn here from one block of bytes; a choice goes to Python.

import { adoptChoices, fresh } from "../pending_choices.js"
import { label } from "./explorer_sentences.js"
import { bars, drawAtlas, paint, prefetch, schedule } from "./explorer_draw.js"
import { headColumns } from "./explorer_attention_bytes.js"
import { build, listen } from "./explorer_pointer_and_keys.js"

const states = new WeakMap()

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector("figure")
  let s = states.get(parentElement)
  if (!s) {
    s = fresh(data)
    states.set(parentElement, s)
  }
  if (s.root !== root) settle(s, root)
  s.send = value => setTriggerValue("chosen", value)
  adopt(s, data)
  return () => {
    s.observer.disconnect()
    for (const timer of [s.timer, s.saying, s.playing]) clearTimeout(timer)
    cancelAnimationFrame(s.frame)
  }
}

// Into these elements: the first ones, or others that Streamlit has put in their place, as it does in another language.
function settle(s, root) {
  s.observer?.disconnect()
  clearTimeout(s.playing)
  Object.assign(s, { root, hover: null, peek: null, playing: null, shape: "", cards: null, size: null, side: null })
  s.observer = new ResizeObserver(entries => {
    for (const { target, contentRect: { width, height } } of entries) s[target.className === "hit" ? "size" : "side"] = [width, height]
    arrange(s)
    schedule(s)
  })
  s.observer.observe(root.querySelector(".hit"))
  listen(s)
}

// Cards of many heads: as many beside each other as it takes to see them all.
function arrange({ root, data, st }) {
  const cards = root.querySelector(".cards")
  const ratio = parseFloat(root.style.getPropertyValue("--ratio")) * (st.second === null ? 1 : 2)
  cards.style.setProperty("--columns", String(headColumns(data.heads, cards.clientWidth, window.innerHeight, ratio)))
}

function adopt(s, data) {
  s.data = data
  adoptChoices(s, data)
  const shape = JSON.stringify([data.heads, data.names, data.grid, data.atlas.heads, data.atlas.whole, data.maps.length, data.words.cards, data.coarse])
  if (shape !== s.shape) build(s)
  s.shape = shape
  const photo = s.root.querySelector("img")
  if (photo.getAttribute("src") !== data.photo) photo.src = data.photo
  if (s.detail?.getAttribute("src") !== data.detail) s.detail = Object.assign(new Image(), { onload: () => schedule(s), src: data.detail })
  s.root.classList.toggle("many", data.heads > 4)
  s.root.classList.toggle("outliers", data.outliers.patches.length > 0 && !data.outliers.masked)
  arrange(s)
  bars(s)
  label(s)
  drawAtlas(s)
  paint(s)
  prefetch(s)
}
