// The parts of the page Tokens, made once for a model, and what they do when touched: by mouse, by keys, by a finger.

import { choose, commit } from "../pending_choices.js"
import { palettes, smallMap } from "../explorer/explorer_attention_bytes.js"
import { ARROWS, neighbour } from "../keys.js"
import { holding, placeOf } from "../heat_overlay.js"
import { clamp } from "../text_formatting.js"
import { bar, FADE_MS, schedule, tokensOf } from "./tokens_draw.js"
import { label } from "./tokens_sentences.js"

const PLAY_MS = 800

export function build(s) {
  const { grid, blocks } = s.data, ratio = (grid.cols * grid.step[1]) / (grid.rows * grid.step[0])
  s.count = grid.rows * grid.cols
  s.colours = palettes(s.data.palettes)
  for (const name of ["small", "before", "thumb"]) s[name] = smallMap(grid.rows, grid.cols)
  for (const name of ["values", "scratch"]) s[name] = new Float32Array(s.count)
  Object.assign(s, { drawn: ["", ""], shades: [null, null], stripKey: "", left: [] })
  s.root.style.setProperty("--ratio", String(ratio))
  const into = s.root.querySelector(".layers")
  into.style.setProperty("--layers", blocks)
  into.replaceChildren()
  s.tiles = Array.from({ length: blocks }, (_, layer) => {
    const button = Object.assign(document.createElement("button"), { type: "button", onclick: () => change(s, { layer }) })
    const canvas = Object.assign(document.createElement("canvas"), { width: grid.cols, height: grid.rows })
    button.append(canvas, String(layer))
    button.setAttribute("aria-label", `${s.data.words.layer} ${layer}`)
    into.append(button)
    return { button, ctx: canvas.getContext("2d") }
  })
  bar(s)
  prefetch(s)
}

// All layers' tokens, while nothing else is going on; the chosen layer's first.
export function prefetch(s) {
  const idle = window.requestIdleCallback ?? (task => setTimeout(task, 300))
  const wanted = [s.st.layer, ...s.tiles.keys()].flatMap(layer => [0, 1].map(photo => [photo, layer]))
  const next = () => {
    const one = wanted.shift()
    if (!one) return
    tokensOf(s, one[0], one[1])
    idle(next)
  }
  idle(next)
}

export function change(s, what, delay = 0) {
  choose(s, what, delay)
  label(s)
  schedule(s)
}

export function listen(s) {
  const q = q => s.root.querySelector(q)
  for (const photo of [0, 1]) {
    const hit = q(`.photo${photo} .hit`)
    const at = e => {
      const box = hit.getBoundingClientRect(), { rows, cols } = s.data.grid, { clientX, clientY } = placeOf(e)
      const row = Math.floor(((clientY - box.top) / box.height) * rows), col = Math.floor(((clientX - box.left) / box.width) * cols)
      return row >= 0 && col >= 0 && row < rows && col < cols ? row * cols + col : null
    }
    const point = patch => {
      if ((s.hover?.photo === photo ? s.hover.patch : null) === patch) return
      s.hover = patch === null ? null : { photo, patch }
      schedule(s)
    }
    hit.onpointermove = e => point(at(e))
    hit.onpointerleave = hit.onpointercancel = () => point(null)
    const wasHeld = holding(hit, bare => q(`.photo${photo}`).classList.toggle("bare", bare))
    hit.onclick = e => {
      const patch = at(e)
      if (wasHeld() || patch === null || photo) return
      change(s, { patch: s.st.patch === patch ? null : patch })
    }
  }
  for (const tile of s.root.querySelectorAll(".views .tile")) tile.onclick = () => change(s, { view: tile.dataset.view })
  q(".threshold input").oninput = e => change(s, { threshold: Number(e.target.value) }, 250)
  q(".mask").onclick = () => change(s, { mask: !s.data.outliers.masked })
  q(".joins").onclick = () => change(s, { lines: !s.st.lines })
  q(".play").onclick = () => play(s)
  s.root.onkeydown = e => pressed(s, e)
}

function pressed(s, e) {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches("input")) return
  const { data: { grid, blocks, middle }, st } = s, onPhoto = e.target.matches(".photo0 .hit"), layer = { "[": -1, "]": 1 }[e.key]
  if (ARROWS[e.key] && onPhoto) {
    s.hover = null
    change(s, { patch: st.patch === null ? middle : neighbour(st.patch, ARROWS[e.key], grid) }, 250)
  } else if (layer) change(s, { layer: clamp(st.layer + layer, blocks) }, 200)
  else if (e.key === "Escape" && st.patch !== null) change(s, { patch: null }, 100)
  else if (e.key === " " && e.target.matches(".hit")) play(s)
  else return
  e.preventDefault()
  e.stopPropagation()
}

// Through the layers, from the first; once more stops. Layers fade into each other, unless motion is to be reduced.
function play(s) {
  if (s.playing) return stop(s)
  const last = s.data.blocks - 1, start = performance.now(), first = s.st.layer === last ? 0 : s.st.layer
  const fades = !window.matchMedia("(prefers-reduced-motion: reduce)").matches
  const step = now => {
    const layer = first + Math.floor((now - start) / PLAY_MS)
    if (layer > last) return stop(s)
    const since = now - start - (layer - first) * PLAY_MS
    if (layer !== s.st.layer) {
      s.fade = fades ? { from: s.st.layer, part: 0 } : null
      s.st.layer = s.changed.layer = layer
      label(s)
    }
    if (s.fade) s.fade.part = Math.min(1, since / FADE_MS)
    schedule(s)
    s.playing = requestAnimationFrame(step)
  }
  s.playing = requestAnimationFrame(step)
  label(s)
}

export function stop(s) {
  cancelAnimationFrame(s.playing)
  Object.assign(s, { playing: 0, fade: null })
  if ("layer" in s.changed) commit(s) // the controls follow
  label(s)
  schedule(s)
}
