// Live's worker: started once a visit to the page, given a frame at a time, ended when the page is left.

import { grab } from "./live_camera_and_files.js"
import { broken, say, showFrame, showKept, showReady, within } from "./live_answer.js"

const FPS = 10, FPS_OF_STILL = 1 // frames a second at most: a battery's, and of those who ask for less motion
const LOST_MS = 30000, GRAB_MS = 5000
// A module of one function that uses a v128, as wasm-feature-detect has it
const SIMD = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11]

const stillness = globalThis.matchMedia?.("(prefers-reduced-motion: reduce)")

export function startWorker(s) {
  const { data } = s
  say(s, "", {}, data.problem)
  const early = takeEarly(data)
  if (data.problem) return
  if (!globalThis.WebAssembly?.validate(Uint8Array.from(SIMD)) || !globalThis.OffscreenCanvas) return early?.worker.terminate(), broken(s, "no simd")
  const at = name => new URL(data.files[name], document.baseURI).href
  s.worker = early?.worker ?? new Worker(at("worker"), { type: "module" })
  s.worker.onerror = event => broken(s, "broken", { reason: event.message || "worker" })
  s.worker.onmessage = ({ data: message }) => hear(s, message)
  const files = { library: at("library"), wasm: at("wasm"), graph: at("graph"), weights: at("weights"), named: data.files.named }
  say(s, "loading", { percent: 0 })
  if (!early) s.worker.postMessage({ kind: "load", files })
  if (early?.heard) hear(s, early.heard)
  s.early = early?.photo ?? null
  const { grid, blocks, heads, cut, mean, std, output, readout } = data
  s.worker.postMessage({ kind: "start", spec: { grid, blocks, heads, cut, mean, std, output, readout } })
}

// The worker that was begun before the page was here, once, where it has the same files; another is ended.
function takeEarly({ files }) {
  const page = /** @type {any} */ (globalThis), early = page.insideVitLive
  delete page.insideVitLive
  clearTimeout(early?.forget)
  const same = Object.entries(early ? JSON.parse(early.files) : { none: "" }).every(([name, at]) => files[name] === at)
  if (!same) early?.worker.terminate()
  return same ? early : null
}

function hear(s, message) {
  if (message.kind === "progress" && !s.ready) say(s, message.part < 1 ? "loading" : "preparing", { percent: Math.floor(100 * message.part) })
  if (message.kind === "error") broken(s, message.gone ? "gone" : "broken", { reason: message.reason })
  if (message.kind === "kept") showKept(s, message.file)
  if (message.kind === "ready") {
    s.ready = message
    say(s, "")
    showReady(s)
    frameNow(s)
  }
  if (message.kind === "frame" && message.id) { // what was asked early has none, and is waited for below
    s.waiting = 0
    s.spare = s.latest && { attention: s.latest.attention, seen: s.latest.seen, detail: s.latest.detail }
    s.latest = message
    s.stamps = [...s.stamps.slice(-9), performance.now()]
    if (message.id >= (s.since || 0)) showFrame(s)
    s.heard?.(message)
    resume(s)
  }
}

/** The source is another, or was let go: its frame comes next, whatever is on its way. */
export function frameNow(s) {
  s.since = s.asked + 1
  clearTimeout(s.timer)
  s.timer = 0
  if (!s.waiting) ask(s)
}

/** The next frame of what moves, no sooner than the rate allows; a page that is not seen asks for none. */
export function resume(s) {
  const due = s.asked < s.since
  if (s.waiting || s.timer || !s.source || (!due && (!s.source.live || s.frozen || document.hidden))) return
  const least = 1000 / (stillness?.matches ? FPS_OF_STILL : FPS)
  s.timer = setTimeout(() => ask(s), due ? 0 : Math.max(0, (s.begun || 0) + least - performance.now()))
}

async function ask(s) {
  clearTimeout(s.timer)
  s.timer = 0
  if (!s.ready || !s.source || s.failed || s.end.signal.aborted || s.waiting) return
  s.waiting = performance.now() // before the frame is there: of two that ask, one waits
  if (askedEarly(s)) return
  const source = s.source, again = s.frozen && s.asked < s.since && !s.stepped // the frame that stands, otherwise covered
  const frame = again ? {} : await within(GRAB_MS, grab(source)).catch(() => null)
  if (!frame || source !== s.source) {
    s.waiting = 0
    frame?.bitmap?.close()
    s.timer = setTimeout(() => ask(s), 50) // a video's first frame is on its way
    return
  }
  if (s.frozen && s.asked >= s.since) { // frozen meanwhile: what was answered last stays
    s.waiting = 0
    for (const picture of [frame.bitmap, frame.sharp]) picture?.close()
    return
  }
  if (!again) s.stepped = false
  const { spare } = s, spares = Object.values(spare ?? {}).map(one => one.buffer)
  const given = [frame.bitmap, frame.sharp, ...spares].filter(Boolean)
  s.spare = null
  s.worker.postMessage({ kind: "frame", id: nextId(s), covered: [...s.covered], off: [...s.off], spare, ...frame }, given)
}

function nextId(s) {
  s.begun = performance.now()
  s.asked += 1
  s.root.dataset.asked = String(s.asked)
  clearTimeout(s.lost)
  s.lost = setTimeout(() => s.waiting && broken(s, "broken", { reason: `${LOST_MS / 1000} s` }), LOST_MS)
  return s.asked
}

// The photo at hand may be what the worker was asked for before the page was here: its answer is here, or on its way.
function askedEarly(s) {
  const { early, source, worker } = s, same = Boolean(early && source.key === early.key && !s.covered.size && !s.off.size)
  s.early = null
  if (!same) return false
  const id = nextId(s)
  const again = () => { s.waiting = 0; frameNow(s) } // it could not be fetched early
  early.answer.then(message => worker === s.worker && hear(s, { ...message, id }), () => worker === s.worker && again())
  return true
}
