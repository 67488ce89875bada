// A few maps on a photo, one after the other: all frames come at once as one tall image, and playing needs no server.
// The arrow keys go from one to the next wherever the focus is, unless it is on what moves by them itself.

import { needed } from "../keys.js"
import { framed } from "../outlier_frames.js"
import { heatOnPhoto, holding, there } from "../heat_overlay.js"

const HOLD_MS = 1100, FADE_MS = 220
const PLAY = "M4 2.5v11l9-5.5z", PAUSE = "M3.5 2.5h3v11h-3zM9.5 2.5h3v11h-3z"
const states = new WeakMap()

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector("figure")
  let s = states.get(parentElement)
  if (!s) {
    s = { pictures: new Map(), frame: data.captions.length - 1, timer: 0 }
    states.set(parentElement, s)
  }
  if (s.root !== root) { // the first one, or another that Streamlit has put in its place, as it does in another language
    s.observer?.disconnect()
    clearTimeout(s.timer)
    Object.assign(s, { root, shown: null, timer: 0 })
    s.observer = new ResizeObserver(() => paint(s))
    s.observer.observe(root)
    const canvas = root.querySelector(".stage canvas")
    canvas.tabIndex = 0
    holding(canvas, bare => {
      s.bare = bare
      paint(s)
    })
  }
  s.end?.abort() // Streamlit calls this function anew without ending what it did before
  s.end = new AbortController()
  document.addEventListener("keydown", event => turn(s, event), { signal: s.end.signal })
  s.data = data
  root.style.setProperty("--shape", data.ratio)
  s.frame = Math.min(s.frame, data.captions.length - 1)
  const sources = [data.image, data.frames, data.detail]
  for (const source of sources) load(source, s)
  for (const old of [...s.pictures.keys()]) if (!sources.includes(old)) s.pictures.delete(old)
  controls(s)
  thumbs(s)
  go(s, s.frame, false)
  return () => {
    clearTimeout(s.timer)
    s.observer.disconnect()
    s.end.abort()
  }
}

function turn(s, event) {
  const frame = s.frame + ({ ArrowLeft: -1, ArrowRight: 1 }[event.key] || 0)
  if (frame === s.frame || needed(event)) return
  event.preventDefault()
  stop(s)
  s.root.querySelector(".stage").scrollIntoView({ block: "nearest" })
  go(s, Math.max(0, Math.min(s.data.captions.length - 1, frame)))
}

function load(source, s) {
  if (s.pictures.has(source)) return
  const image = new Image()
  image.onload = () => paint(s)
  image.onerror = () => { s.root.querySelector(".stage").dataset.drawn = "" } // nothing more is on its way
  image.src = source
  s.pictures.set(source, image)
}

function controls(s) {
  const { captions } = s.data
  const play = s.root.querySelector(".play"), slider = s.root.querySelector("input")
  slider.max = captions.length - 1
  slider.oninput = () => {
    stop(s)
    go(s, +slider.value)
  }
  play.onclick = () => (s.timer ? stop(s) : start(s))
  mark(s)
}

function thumbs(s) {
  const box = s.root.querySelector(".thumbs"), { captions, names } = s.data
  while (box.childElementCount > captions.length) box.lastChild.remove()
  while (box.childElementCount < captions.length) {
    const button = document.createElement("button")
    button.type = "button"
    button.append(document.createElement("canvas"), document.createElement("span"))
    box.append(button)
  }
  ;[...box.children].forEach((button, i) => {
    button.lastChild.textContent = names[i]
    button.firstChild.setAttribute("aria-hidden", "true")
    button.onclick = () => {
      stop(s)
      go(s, i)
    }
  })
}

// From the first frame when the last is reached; one that has ended stays on its last frame.
function start(s) {
  const last = s.data.captions.length - 1
  const next = () => {
    if (s.frame >= last) return stop(s)
    go(s, s.frame + 1)
    s.timer = setTimeout(next, HOLD_MS)
  }
  if (s.frame >= last) go(s, 0)
  s.timer = setTimeout(next, HOLD_MS)
  mark(s)
}

function stop(s) {
  clearTimeout(s.timer)
  s.timer = 0
  mark(s)
}

function mark(s) {
  const play = s.root.querySelector(".play"), { words } = s.data
  play.setAttribute("aria-label", s.timer ? words.pause : words.play)
  play.title = s.timer ? words.pause : words.play
  play.querySelector("path").setAttribute("d", s.timer ? PAUSE : PLAY)
}

function go(s, frame, fade = true) {
  const before = s.shown
  s.frame = s.shown = frame
  s.root.querySelector("input").value = frame
  s.root.querySelector("input").setAttribute("aria-valuetext", s.data.names[frame])
  s.root.querySelector("figcaption").textContent = s.data.captions[frame]
  ;[...s.root.querySelectorAll(".thumbs button")].forEach((b, i) => b.setAttribute("aria-pressed", String(i === frame)))
  const moving = fade && before !== null && before !== frame && !matchMedia("(prefers-reduced-motion: reduce)").matches
  s.fade = moving ? { from: before, since: performance.now() } : null
  moving ? requestAnimationFrame(() => step(s)) : paint(s)
}

function step(s) {
  if (!s.fade) return
  const part = Math.min(1, (performance.now() - s.fade.since) / FADE_MS)
  stage(s, part)
  if (part < 1) requestAnimationFrame(() => step(s))
  else s.fade = null
}

function paint(s) {
  if (!s.data) return
  stage(s, 1)
  const small = [...s.root.querySelectorAll(".thumbs canvas")]
  small.forEach((canvas, i) => draw(canvas, s, [[i, 1]]))
}

function stage(s, part) {
  const canvas = s.root.querySelector(".stage canvas")
  canvas.setAttribute("aria-label", `${s.data.label}. ${s.data.captions[s.frame]} ${s.data.words.hold}`)
  canvas.setAttribute("role", "img")
  draw(canvas, s, part < 1 && s.fade ? [[s.fade.from, 1], [s.frame, part]] : [[s.frame, 1]])
}

function draw(canvas, s, frames) {
  const { captions, ratio, marks, rows, cols } = s.data
  const wide = canvas.clientWidth
  if (!wide) return
  const high = wide / ratio, dpr = window.devicePixelRatio || 1
  if (canvas.width !== Math.round(wide * dpr) || canvas.height !== Math.round(high * dpr)) {
    canvas.style.height = high + "px"
    canvas.width = Math.round(wide * dpr)
    canvas.height = Math.round(high * dpr)
  }
  const [photo, strip, detail] = [s.data.image, s.data.frames, s.data.detail].map(source => s.pictures.get(source))
  if (![photo, strip, detail].every(there)) return
  canvas.parentElement.dataset.drawn = ""
  const ctx = canvas.getContext("2d"), each = strip.naturalHeight / captions.length
  ctx.setTransform(dpr, 0, 0, dpr, 0, 0)
  ctx.imageSmoothingQuality = "high"
  if (s.bare && canvas.closest(".stage")) return ctx.drawImage(photo, 0, 0, wide, high)
  const maps = frames.map(([frame, part]) => ({ image: strip, source: [0, frame * each, strip.naturalWidth, each], part }))
  heatOnPhoto(ctx, maps, detail, wide, high)
  framed(ctx, marks?.[frames.at(-1)[0]], rows, cols, wide, high)
}
