// What Live says and shows of an answer: five classes, the rate, what is missing, and that this browser and the server agree.

import { fillIn } from "../text_formatting.js"
import { adoptFrame, adoptImages, schedule } from "./live_draw.js"
import { largestDifference, shownShare } from "./live_rollout_and_detail.js"
import { buildHeads } from "./live_head_switches.js"
import { showClip } from "./live_clip_frames.js"
import { filmKind } from "./live_record_film.js"
import { openPhoto } from "./live_camera_and_files.js"

const AGREES = 0.01 // of logits: float32 on two machines differ by a few millionths, other arithmetic by far more

/** @param {string} text of 32-bit floats, base64 */
export const floatsOf = text => new Float32Array(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer)

/** What is promised, or an error where it takes longer. @template T @param {number} ms @param {Promise<T>} promise @returns {Promise<T>} */
export function within(ms, promise) {
  /** @type {any} */
  let timer
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`${ms / 1000} s`)), ms) })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** A sentence of the page's by its name, or one that Python has written; the last one stays until another comes. */
export function say(s, name, facts = {}, sentence = "") {
  s.root.querySelector(".told").textContent = sentence || (name ? fillIn(s.data.words[name], facts) : "")
}

/** The model can't go on in this browser: why, and the server's answer for the photo at hand. */
export function broken(s, name, facts = {}) {
  if (s.failed) return
  s.failed = true
  clearTimeout(s.lost)
  s.worker?.terminate()
  if (s.source?.kind !== "photo") openPhoto(s)
  say(s, name, facts)
  s.latest = null
  showServersAnswer(s)
}

export function showServersAnswer(s) {
  adoptImages(s, s.data.photo, s.data.detail)
  rows(s, s.server.answer)
  s.root.querySelector(".rate").textContent = s.failed || s.data.problem ? s.data.words.servers : ""
  buttons(s)
}

export function showReady(s) {
  buildHeads(s)
  buttons(s)
}

/** Buttons as the source has them. */
export function showSource(s) {
  if (s.ready && !s.failed) s.root.querySelector(".rate").textContent = ""
  buttons(s)
  schedule(s)
}

export function buttons(s) {
  const { source, data: { words } } = s, able = Boolean(s.ready && !s.failed), q = q => s.root.querySelector(q)
  for (const button of s.root.querySelectorAll("[data-source]")) {
    button.setAttribute("aria-pressed", String((source?.kind || "photo") === button.dataset.source))
    button.disabled = !able
  }
  const freeze = q("[data-act=freeze]"), keep = q("[data-act=keep]")
  freeze.disabled = !able || !source?.live
  freeze.setAttribute("aria-pressed", String(s.frozen))
  freeze.textContent = words[s.frozen ? "go on" : "freeze"]
  q("[data-act=mirror]").disabled = !able || source?.kind !== "camera"
  q("[data-act=mirror]").setAttribute("aria-pressed", String(s.mirrored))
  q("[data-act=turn]").hidden = !able || !source?.several
  q("[data-act=cover]").disabled = !able
  q("[data-act=cover]").setAttribute("aria-pressed", String(Boolean(s.brush)))
  q("[data-act=clear]").disabled = !s.covered.size
  s.root.classList.toggle("brushing", Boolean(able && s.brush))
  keep.disabled = !able || !source || source.kind === "photo" || s.keeping
  q(".layers input").disabled = q("[data-act=rollout]").disabled = !able
  s.root.classList.toggle("mirrored", s.mirrored)
  q("[data-act=film]").hidden = !filmKind()
  showClip(s)
}

export function showFrame(s) {
  const { latest, source, data } = s
  adoptFrame(s)
  rows(s, latest.top.map(([i, share]) => ({ label: data.labels[i] ?? `${i}`, share, shown: shownShare(share) })))
  const took = s.stamps.length > 3 && source?.live && !s.frozen ? (s.stamps.at(-1) - s.stamps[0]) / (s.stamps.length - 1) : 0
  const facts = { fps: took ? (1000 / took).toFixed(1) : "", ms: Math.round(latest.ms.all), threads: s.ready.threads }
  s.root.querySelector(".rate").textContent = fillIn(data.words[took ? "rate" : "time"], facts)
  if (source?.kind === "photo" && source.key === data.key && !latest.covered.length && !latest.off.length) compare(s)
  if (source?.clip) showClip(s)
  s.root.dataset.frames = String(latest.id)
}

// The photo at hand has an answer of the server's, too: what is computed here is compared with it, once a photo.
function compare(s) {
  const logits = largestDifference(s.latest.logits, s.server.logits), difference = logits.toPrecision(2)
  if (logits > AGREES) return broken(s, "differs", { difference })
  s.root.querySelector(".checked").textContent = fillIn(s.data.words.checked, { difference: Number(difference).toString() })
}

function rows(s, answer) {
  const list = s.root.querySelector(".answer")
  while (list.children.length > answer.length) list.lastChild.remove()
  answer.forEach(({ label, share, shown }, i) => {
    const row = list.children[i] || list.appendChild(document.createElement("li"))
    if (!row.children.length) row.append(document.createElement("span"), document.createElement("span"))
    row.style.setProperty("--share", `${100 * share}%`)
    row.children[0].textContent = row.children[0].title = label
    row.children[1].textContent = shown
  })
}

/** The frame goes to Python: the visitor has asked for it. @param {any} s @param {Blob} file */
export function showKept(s, file) {
  const reader = new FileReader()
  reader.onload = () => {
    s.keeping = false
    s.kept = true // the photo at hand that comes back is this frame
    s.sent = (s.sent || s.data.n) + 1
    s.send({ n: s.sent, frame: String(reader.result).split(",")[1] })
    buttons(s)
  }
  reader.readAsDataURL(file)
}
