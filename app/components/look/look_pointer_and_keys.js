// The Look page's parts, made once for a model and a photo, and what they do when touched: by mouse, by keys, by a finger.

import { make } from "../elements.js"
import { choose } from "../pending_choices.js"
import { ARROWS, neighbour } from "../keys.js"
import { holding, placeOf } from "../heat_overlay.js"
import { listenRegion } from "../region_selection.js"
import { clamp, fillIn } from "../text_formatting.js"
import { fly, schedule } from "./look_draw.js"
import { fetchWhileIdle, nearestDot } from "./look_map_values.js"

const PLAY_MS = 4000, NEAR_PX = 14

export function build(s) {
  s.fitRegion()
  const { data, root } = s, { grid, words } = data, q = q => root.querySelector(q)
  const style = getComputedStyle(root), css = name => style.getPropertyValue(name).trim()
  Object.assign(s, { ink: css("--st-text-color"), soft: style.color, line: css("--st-border-color"), accent: css("--st-primary-color"), font: `${Math.max(12, Math.round(0.8 * parseFloat(style.fontSize)))}px ${css("--st-font")}`, em: parseFloat(style.fontSize), barOf: null,
    sequenceDrawn: "", tilesDrawn: "", distanceDrawn: "", streamsDrawn: "", similar: null })
  root.style.setProperty("--ratio", String((grid.cols * grid.step[1]) / (grid.rows * grid.step[0])))
  const attends = !data.undefined.rollout
  for (const name of [".layers", ".heads", ".scale"]) q(name).hidden = !attends
  for (const name of ["patches", "filters", "positions", "distance", "rollout"]) {
    const why = data.undefined[name], section = q(`section.${name}`)
    section.querySelector(".undefined").textContent = why || ""
    section.querySelector(".undefined").hidden = !why
    for (const part of section.querySelectorAll(".body, .caption")) part.hidden = Boolean(why)
  }
  for (const slider of [q(".layers input"), q(".rollout input")]) slider.max = String(data.blocks - 1)
  q(".heads").replaceChildren()
  const names = data.early || !attends ? [] : [words.mean, ...Array.from({ length: data.heads }, (_, head) => fillIn(words.head, { head }))]
  s.chips = names.map((textContent, i) => {
    const chip = make("button", q(".heads"), { type: "button", className: "tile", textContent })
    chip.onclick = () => change(s, { head: i ? i - 1 : null, layer: s.st.layer ?? data.blocks - 1 })
    return chip
  })
  q(".answer").replaceChildren()
  if (data["answer note"]) make("li", q(".answer"), { textContent: data["answer note"] })
  for (const [label, share, shown] of data.answer) {
    const row = make("li", q(".answer"))
    row.style.setProperty("--share", `${100 * share}%`)
    make("span", row, { textContent: label, title: label })
    make("span", row, { textContent: shown })
  }
  watch(s)
}

// The patches fly once the first section is seen with its picture.
function watch(s) {
  if (s.data.early) return
  if (!s.flown) fly(s)
  fetchWhileIdle(s)
}

function change(s, what, delay = 0) {
  if (s.data.early) return
  choose(s, what, delay)
  schedule(s)
}

// The place under the pointer on a canvas of rows × cols; null beside it.
function cell(event, rows, cols) {
  const box = event.currentTarget.getBoundingClientRect(), { clientX, clientY } = placeOf(event)
  const row = Math.floor(((clientY - box.top) / box.height) * rows), col = Math.floor(((clientX - box.left) / box.width) * cols)
  return row >= 0 && col >= 0 && row < rows && col < cols ? row * cols + col : null
}

export function listen(s) {
  const q = q => s.root.querySelector(q), hit = q(".hit")
  const set = what => {
    if (Object.entries(what).every(([key, value]) => JSON.stringify(s[key]) === JSON.stringify(value))) return
    Object.assign(s, what)
    schedule(s)
  }
  // what pointing at a canvas shows, and what a click there chooses
  const points = (canvas, find, shows, chosen) => {
    canvas.onpointermove = e => set(shows(find(e)))
    canvas.onpointerleave = canvas.onpointercancel = () => set({ hover: null, over: null })
    canvas.onclick = e => find(e) !== null && chosen(find(e))
  }
  const patchAt = e => cell(e, s.data.grid.rows, s.data.grid.cols)
  const pin = patch => change(s, { patch: s.st.patch === patch ? null : patch })
  const hover = patch => ({ hover: patch })
  const wasHeld = holding(hit, bare => s.root.classList.toggle("bare", bare))
  listenRegion(hit, s, { grid: () => s.data.grid, at: patchAt, start: () => s.st.patch ?? s.data.middle, blocked: () => Boolean(s.data.early || s.data.undefined.rollout),
    changed: () => { s.hover = null; schedule(s) } })
  points(hit, patchAt, hover, patch => !wasHeld() && pin(patch))
  points(q(".sequence .base"), e => {
    const { per, side } = s.sequence, box = e.currentTarget.getBoundingClientRect(), { clientX, clientY } = placeOf(e)
    const col = Math.floor((clientX - box.left) / side), token = Math.floor((clientY - box.top) / side) * per + col
    const patch = token - s.data.grid.prefix
    return col < per && patch >= 0 && patch < s.data.grid.rows * s.data.grid.cols ? patch : null
  }, hover, pin)
  points(q(".positions .one"), patchAt, hover, pin)
  points(q(".positions .tiles"), e => {
    const { side, tiles } = s.data.positions, at = cell(e, side[0], side[1])
    return at === null ? null : tiles[at]
  }, position => ({ over: position === null ? null : { position } }), pin)
  points(q(".distance canvas"), e => {
    const box = e.currentTarget.getBoundingClientRect(), { clientX, clientY } = placeOf(e)
    const at = nearestDot(s.dots || [], clientX - box.left, clientY - box.top, NEAR_PX)
    return at === null ? null : { layer: Math.floor(at / s.data.heads), head: at % s.data.heads }
  }, over => ({ over }), dot => change(s, dot))
  q(".layers input").oninput = e => change(s, { layer: Number(e.target.value) }, 120)
  q(".layers .all").onclick = () => change(s, { layer: null, head: null })
  q(".mask").onclick = () => change(s, { mask: !s.data.outliers.masked })
  q(".rollout input").oninput = e => (stop(s), set({ step: Number(e.target.value) }))
  q(".rollout input").onblur = () => set({ step: null })
  q(".rollout .body").onpointerleave = e => e.pointerType === "mouse" && !s.playing && set({ step: null })
  q(".play").onclick = () => (s.playing ? stop(s) : play(s))
  for (const more of s.root.querySelectorAll(".more")) {
    more.setAttribute("role", "link")
    more.onclick = () => change(s, { open: more.closest("section").className })
  }
  s.root.onkeydown = e => pressed(s, e)
}

function pressed(s, e) {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches("input")) return
  const { data, st } = s, { grid } = data
  const layer = { "[": -1, "]": 1 }[e.key], last = data.blocks - 1
  if (ARROWS[e.key] && e.target.matches(".hit")) {
    s.hover = null
    change(s, { patch: st.patch === null ? data.middle : neighbour(st.patch, ARROWS[e.key], grid) }, 250)
  } else if (layer && !data.undefined.rollout) change(s, { layer: clamp((st.layer ?? last + 1) + layer, data.blocks) }, 200)
  else if (/^[0-9]$/.test(e.key) && Number(e.key) < data.heads && !data.undefined.rollout) change(s, { head: Number(e.key), layer: st.layer ?? last }, 100)
  else if (e.key === "Escape" && st.patch !== null) change(s, { patch: null }, 100)
  else if (e.key === "Escape" && (st.layer !== null || st.head !== null)) change(s, { layer: null, head: null }, 100)
  else return
  e.preventDefault()
  e.stopPropagation()
}

// Rollout through the layers, four seconds in all; once more stops.
function play(s) {
  const start = performance.now()
  const step = now => {
    const at = Math.floor(((now - start) / PLAY_MS) * s.data.blocks)
    if (at >= s.data.blocks) return stop(s)
    if (at !== s.step) Object.assign(s, { step: Math.max(0, at) }), schedule(s)
    s.playing = requestAnimationFrame(step)
  }
  s.playing = requestAnimationFrame(step)
}

function stop(s) {
  cancelAnimationFrame(s.playing)
  Object.assign(s, { playing: 0, step: null })
  schedule(s)
}
