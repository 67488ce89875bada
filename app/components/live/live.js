// Live: the model runs in this browser, on a camera, a clip, an image or the photo at hand; Python is asked for nothing while it does.

import { palettes, smallMap } from "../explorer/explorer_attention_bytes.js"
import { floatsOf, say, showServersAnswer } from "./live_answer.js"
import { schedule } from "./live_draw.js"
import { buildHeads } from "./live_head_switches.js"
import { startWorker } from "./live_worker_client.js"
import { openPhoto, stopSource } from "./live_camera_and_files.js"
import { listen } from "./live_pointer_and_keys.js"

const states = new WeakMap()

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector("figure")
  let s = states.get(parentElement)
  if (!s) {
    s = { layer: null, hover: null, pinned: null, frozen: false, mirrored: false, stamps: [], asked: 0, covered: new Set(), off: new Set(), end: new AbortController() }
    states.set(parentElement, s)
  }
  s.send = value => setTriggerValue("chosen", value)
  if (s.root !== root) settle(s, root, data)
  adopt(s, data)
  return () => {
    s.end.abort()
    s.observer.disconnect()
    stopSource(s)
    s.worker?.terminate()
    cancelAnimationFrame(s.painting)
    clearTimeout(s.timer)
    states.delete(parentElement)
  }
}

function settle(s, root, data) {
  s.observer?.disconnect()
  Object.assign(s, { root, data, painting: 0 })
  s.observer = new ResizeObserver(() => schedule(s))
  s.observer.observe(root)
  listen(s)
}

// Another model: nothing of the last one stays.
function restart(s) {
  s.fitRegion()
  s.worker?.terminate()
  stopSource(s)
  clearTimeout(s.lost)
  clearTimeout(s.timer)
  const nothing = { worker: null, ready: null, latest: null, pictures: null, layer: null, hover: null, pinned: null, timer: 0, covered: new Set(), off: new Set() }
  Object.assign(s, nothing, { failed: false, frozen: false, mirrored: false, kept: false, keeping: false, waiting: 0, stamps: [] })
  s.root.querySelector(".checked").textContent = ""
  startWorker(s)
}

// A new photo at hand is shown unless something else is live; another language or theme changes words and colours alone.
function adopt(s, data) {
  const before = s.adopted
  Object.assign(s, { data, adopted: data, colours: palettes(data.colours), small: smallMap(data.grid.rows, data.grid.cols) })
  s.root.style.setProperty("--ratio", String((data.grid.cols * data.grid.step[1]) / (data.grid.rows * data.grid.step[0])))
  s.root.querySelector(".layers input").max = String(data.blocks - 1)
  s.server = { logits: floatsOf(data.server.logits), rolled: floatsOf(data.server.rollout), answer: data.server.answer }
  if (before?.runs !== data.runs) restart(s)
  if (before?.key !== data.key && (!s.source || s.source.kind === "photo" || s.kept)) openPhoto(s)
  if (before && before.key !== data.key && s.kept) say(s, "opened")
  buildHeads(s)
  if (!s.ready) showServersAnswer(s)
  schedule(s)
}
