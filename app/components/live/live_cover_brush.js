// Live's brush: patches that are covered with the frame's mean colour before the model sees it, until they are let go.

import { buttons } from "./live_answer.js"
import { schedule } from "./live_draw.js"
import { frameNow } from "./live_worker_client.js"

/** @param {any} s @param {(event: PointerEvent) => number} patchAt */
export function listenCover(s, patchAt) {
  const hit = s.root.querySelector(".hit"), act = name => s.root.querySelector(`[data-act=${name}]`)
  act("cover").onclick = () => { s.brush = !s.brush; buttons(s) }
  act("clear").onclick = () => uncover(s)
  hit.addEventListener("pointerdown", event => {
    if (!s.brush || event.button) return
    hit.setPointerCapture(event.pointerId)
    const patch = patchAt(event)
    s.stroke = s.covered.has(patch) ? "off" : "on" // a stroke that begins on a covered patch lets go
    coverPatch(s, patch, s.stroke === "on")
  })
  hit.addEventListener("pointermove", event => s.stroke && coverPatch(s, patchAt(event), s.stroke === "on"))
  for (const name of ["pointerup", "pointercancel"]) hit.addEventListener(name, () => { s.stroke = "" })
}

/** @param {any} s @param {number} patch @param {boolean} on */
export function coverPatch(s, patch, on = !s.covered.has(patch)) {
  if (s.covered.has(patch) === on) return
  on ? s.covered.add(patch) : s.covered.delete(patch)
  changed(s)
}

export function uncover(s) {
  if (!s.covered.size) return
  s.covered.clear()
  changed(s)
}

// What moves shows it with its next frame; what stands still is answered once more.
export function changed(s) {
  buttons(s)
  schedule(s)
  if (s.ready && s.source && (!s.source.live || s.frozen)) frameNow(s)
}
