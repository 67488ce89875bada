// The page Tokens: two photos in the colours of their patch tokens; the patch pointed at lights up its like in the other one.

import { adoptChoices, fresh } from "../pending_choices.js"
import { schedule } from "./tokens_draw.js"
import { build, listen, prefetch } from "./tokens_pointer_and_keys.js"
import { label } from "./tokens_sentences.js"

const states = new WeakMap()

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector("figure")
  let s = states.get(parentElement)
  if (!s) states.set(parentElement, (s = { ...fresh(data), files: new Map(), images: new Map(), sizes: [[0, 0], [0, 0]] }))
  s.send = value => setTriggerValue("chosen", value)
  const before = s.data
  s.data = data
  if (!s.playing) adoptChoices(s, data)
  forget(s)
  if (s.root !== root) settle(s, root)
  const shape = JSON.stringify([data.mode, data.grid, data.blocks, data.words])
  if (shape !== s.shape) build(s)
  else if (before.vectors.flat().join() !== data.vectors.flat().join()) prefetch(s)
  s.shape = shape
  data.photos.forEach((url, photo) => {
    const image = root.querySelector(`.photo${photo} img`)
    if (image.getAttribute("src") !== url) image.src = url
  })
  root.querySelector(".photo1 img").alt = data.second
  label(s)
  schedule(s)
  return () => {
    s.observer.disconnect()
    clearTimeout(s.timer)
    clearTimeout(s.saying)
    cancelAnimationFrame(s.frame)
    cancelAnimationFrame(s.playing)
    Object.assign(s, { frame: 0, playing: 0 })
  }
}

// What Python names no more.
function forget(s) {
  const { data } = s, named = new Set([...data.vectors.flat(), data.colours, data.first, data.matches, data.segments, ...data.details])
  for (const kept of [s.files, s.images]) for (const url of kept.keys()) if (!named.has(url)) kept.delete(url)
}

// Into these elements: the first ones, or others that Streamlit has put in their place, as it does in another language.
function settle(s, root) {
  s.observer?.disconnect()
  Object.assign(s, { root, hover: null, frame: 0, playing: 0, fade: null, shape: "", drawn: ["", ""], stripKey: "", linesDrawn: "" })
  s.observer = new ResizeObserver(entries => {
    for (const { target, contentRect: { width, height } } of entries) s.sizes[target.closest(".photo1") ? 1 : 0] = [width, height]
    schedule(s)
  })
  for (const hit of root.querySelectorAll(".hit")) s.observer.observe(hit)
  listen(s)
}
