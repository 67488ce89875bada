// What Live's parts do when touched: by mouse, by keys, by a finger, and by a file that is dropped on them.

import { ARROWS, neighbour, taken } from "../keys.js"
import { holding, placeOf } from "../heat_overlay.js"
import { listenRegion } from "../region_selection.js"
import { clamp } from "../text_formatting.js"
import { buttons } from "./live_answer.js"
import { clipAt, listenClip, stepTo } from "./live_clip_frames.js"
import { coverPatch, listenCover } from "./live_cover_brush.js"
import { film } from "./live_record_film.js"
import { schedule } from "./live_draw.js"
import { resume } from "./live_worker_client.js"
import { openCamera, openFile, openPhoto } from "./live_camera_and_files.js"

export function listen(s) {
  const { root } = s, q = q => root.querySelector(q), hit = q(".hit"), chooser = q("input[type=file]"), signal = s.end.signal
  q("[data-source=camera]").onclick = () => openCamera(s, "user")
  q("[data-source=file]").onclick = () => chooser.click()
  q("[data-source=photo]").onclick = () => openPhoto(s)
  chooser.onchange = () => { openFile(s, chooser.files[0]); chooser.value = "" }
  q("[data-act=freeze]").onclick = () => freeze(s, !s.frozen)
  q("[data-act=mirror]").onclick = () => { s.mirrored = !s.mirrored; buttons(s) }
  q("[data-act=turn]").onclick = () => openCamera(s, s.source?.facing === "environment" ? "user" : "environment")
  q("[data-act=rollout]").onclick = () => { s.layer = null; schedule(s) }
  q("[data-act=keep]").onclick = () => keep(s)
  q(".layers input").oninput = event => { s.layer = Number(event.target.value); schedule(s) }
  const wasHeld = holding(hit, bare => { s.bare = bare && !s.brush; schedule(s) })
  listenRegion(hit, s, { grid: () => s.data.grid, at: event => patchAt(s, event), start: () => s.pinned ?? middleOf(s.data.grid),
    flipped: () => s.mirrored, blocked: () => s.brush, changed: () => { s.hover = null; schedule(s) } })
  hit.addEventListener("pointermove", event => event.pointerType !== "touch" && point(s, s.brush ? null : patchAt(s, event)))
  hit.addEventListener("pointerleave", () => point(s, null))
  hit.addEventListener("click", event => {
    if (wasHeld() || s.brush) return
    const patch = patchAt(s, event)
    s.pinned = s.pinned === patch ? null : patch
    schedule(s)
  })
  hit.addEventListener("keydown", event => keys(s, event))
  document.addEventListener("keydown", event => space(s, event), { signal })
  document.addEventListener("visibilitychange", () => resume(s), { signal })
  listenClip(s)
  q("[data-act=film]").onclick = () => film(s)
  listenCover(s, event => patchAt(s, event))
  takeDropped(s, signal)
}

const middleOf = ({ rows, cols }) => Math.floor(rows / 2) * cols + Math.floor(cols / 2)

function point(s, patch) {
  if (s.hover === patch) return
  s.hover = patch
  schedule(s)
}

function patchAt(s, event) {
  const box = s.root.querySelector(".hit").getBoundingClientRect(), { clientX, clientY } = placeOf(event), { rows, cols } = s.data.grid
  const across = (clientX - box.left) / box.width, row = clamp(Math.floor(((clientY - box.top) / box.height) * rows), rows)
  return row * cols + clamp(Math.floor((s.mirrored ? 1 - across : across) * cols), cols)
}

function keys(s, event) {
  const step = ARROWS[event.key], { grid } = s.data
  if (event.altKey || event.ctrlKey || event.metaKey) return
  if (event.key === "Escape" && s.pinned !== null) s.pinned = null
  else if (event.key === "Enter" && s.brush && s.pinned !== null) coverPatch(s, s.pinned)
  else if (step) {
    s.pinned = neighbour(s.pinned ?? middleOf(grid), [step[0], s.mirrored ? -step[1] : step[1]], grid)
  } else return
  event.preventDefault()
  event.stopPropagation()
  s.hover = null
  schedule(s)
}

/** Comma and full stop step through a clip; Space freezes and lets go, wherever the focus is, but on what Space presses. */
function space(s, event) {
  if ((event.key === "." || event.key === ",") && !taken(event) && s.source?.clip) {
    event.preventDefault()
    return stepTo(s, clipAt(s) + (event.key === "." ? 1 : -1))
  }
  if (event.key !== " " || event.repeat || taken(event) || !s.source?.live) return
  const at = event.composedPath()[0]
  if (at !== s.root.querySelector(".hit") && at.matches?.("button, a, input, select, textarea, summary, [role=button], [role=switch]")) return
  event.preventDefault()
  freeze(s, !s.frozen)
}

export function freeze(s, on) {
  if (!s.source?.live) return
  if (s.frozen === on) return
  s.frozen = on
  if (s.source.clip) s.source.clip.paused = on
  clearTimeout(s.timer)
  s.timer = 0
  if (s.source.address) on ? s.source.video.pause() : s.source.video.play() // a clip goes on where it was
  s.stamps = []
  buttons(s)
  resume(s)
}

function keep(s) {
  freeze(s, true)
  s.keeping = true
  buttons(s)
  s.worker.postMessage({ kind: "keep" })
}

/** A file that is dropped here stays here: anywhere else on the page it would be uploaded (`page_style/photo_drop.js`). */
function takeDropped(s, signal) {
  const over = on => s.root.classList.toggle("dropping", on)
  const listenTo = (kind, act) => window.addEventListener(kind, event => {
    const inside = event.composedPath().includes(s.root)
    over(inside && kind === "dragover")
    if (!inside || !event.dataTransfer?.types.includes("Files") || !s.ready || s.failed) return
    event.preventDefault()
    event.stopPropagation()
    act(event)
  }, { signal, capture: true }) // the window hears before the document
  listenTo("dragover", () => {})
  listenTo("drop", event => openFile(s, event.dataTransfer.files[0]))
}
