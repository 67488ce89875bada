// The explorer's drawing part: the lit photo, the map of each head, the strip, the colour bars.

import { answering, chosen, drawBar, even, exactly, fetched, fill, largest, least, place, read, standingOut } from "./explorer_attention_bytes.js"
import { headline, nameOf, tell } from "./explorer_sentences.js"
import { fillIn } from "../text_formatting.js"
import { heatOnPhoto, scaleTop } from "../heat_overlay.js"
import { framed, strokeTwice } from "../outlier_frames.js"
import { outlineRegion } from "../region_selection.js"

export function schedule(s) {
  s.frame ||= requestAnimationFrame(() => paint(s))
}

export function mapFor(s, block) {
  const spec = s.data.maps[block]
  const again = () => schedule(s)
  return spec ? exactly(s, fetched(s, spec, again), s.data.exact, block, again) : null
}

export function prefetch(s) {
  for (const block of [s.st.block, s.st.block + 1, s.st.block - 1]) if (s.data.maps[block]) mapFor(s, block)
}

export function paint(s) {
  s.frame = 0
  const { data, st } = s
  const map = (s.map = mapFor(s, st.block))
  s.root.classList.toggle("waiting", !map)
  s.root.toggleAttribute("data-escape", st.head !== null || st.rolled) // Escape goes back to the mean before it leaves a lecture
  if (!map) return
  const { grid, shared, log } = data
  const shown = [answering(map, (st.rolled ? null : s.hover) ?? st.token), ...(st.second === null ? [] : [answering(map, st.second)])]
  s.shown = shown
  s.values = shown.map((token, i) => s.buffers[i].map((row, head) => read(map, head, token, st.column, s.table, row)))
  const tops = s.values.map(rows => rows.map(row => row[largest(row, grid.prefix)]))
  const common = Math.max(...tops.flat(), least(s))
  s.cards.forEach((card, head) => s.values.forEach((rows, i) => {
    fill(s.small, rows[head], grid.prefix, shared ? common : Math.max(tops[i][head], least(s)), log, s.colours.solid)
    enlarge(s, card.maps[i], shown[i], COLOURS[i], standingOut(rows[head], grid.prefix, data.outliers))
  }))
  paintPhoto(s, shown, common)
  outline(s)
  tell(s)
}

// The photo, lit by one head, the mean of all, or rollout.
function paintPhoto(s, shown, common) {
  const { data, st } = s
  const { grid, shared, log, style } = data
  const again = () => schedule(s)
  const rolled = (s.rolled = st.rolled && data.rollout ? exactly(s, fetched(s, data.rollout, again), data.exact_rollout, null, again) : null)
  if (st.rolled && rolled) read(rolled, 0, answering(rolled, shown[0]), st.column, s.table, s.lit)
  else chosen(s.values[0], st.head, s.lit)
  const ofHead = st.head !== null && !st.rolled // as on its card
  s.top = ofHead && shared ? common : ofHead || log ? Math.max(s.lit[largest(s.lit, grid.prefix)], least(s)) : scaleTop(s.lit, grid.prefix, even(s))
  fill(s.small, s.lit, grid.prefix, s.top, log, s.colours[style])
  s.marks = standingOut(s.lit, grid.prefix, data.outliers)
  const [wide, high] = s.size || [0, 0], { canvas } = s.over, dpr = window.devicePixelRatio || 1
  const size = { width: Math.round(wide * dpr), height: Math.round(high * dpr) }
  if (canvas.width !== size.width || canvas.height !== size.height) Object.assign(canvas, size)
  s.over.clearRect(0, 0, size.width, size.height)
  if (style === "heat") return heatOnPhoto(s.over, [{ image: s.small.canvas }], s.detail, size.width, size.height)
  s.over.imageSmoothingEnabled = false
  s.over.drawImage(s.small.canvas, 0, 0, size.width, size.height)
}

// The small map on a card's canvas, and on it the patch that was asked.
function enlarge(s, ctx, token, colour, marks) {
  const { canvas } = ctx
  const { grid } = s.data
  const dpr = window.devicePixelRatio || 1
  const [wide, high] = (s.side || [140, 140]).map(px => Math.round(px * dpr))
  if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high })
  ctx.imageSmoothingEnabled = false
  ctx.drawImage(s.small.canvas, 0, 0, wide, high)
  framed(ctx, marks, grid.rows, grid.cols, wide, high)
  if (token < grid.prefix) return
  const [row, col] = place(token, grid)
  const [x, y] = [Math.round((col * wide) / grid.cols), Math.round((row * high) / grid.rows)]
  const line = Math.max(1, Math.round(dpr))
  ctx.lineWidth = line
  for (const [style, out] of [["#000", 1.5 * line], [colour, 0.5 * line]]) {
    ctx.strokeStyle = style
    ctx.strokeRect(x - out, y - out, wide / grid.cols + 2 * out, high / grid.rows + 2 * out)
  }
}

// The grid and the outlines over the photo.
function outline(s) {
  const canvas = s.root.querySelector(".hit")
  const [wide, high] = s.size || [0, 0] // from the observer: asking the element would lay the page out once more
  if (!wide || !s.over) return
  const dpr = window.devicePixelRatio || 1
  const { grid } = s.data
  const [w, h] = [wide / grid.cols, high / grid.rows]
  if (canvas.width !== Math.round(wide * dpr) || canvas.height !== Math.round(high * dpr)) {
    canvas.width = Math.round(wide * dpr)
    canvas.height = Math.round(high * dpr)
  }
  const ctx = canvas.getContext("2d")
  ctx.setTransform(dpr, 0, 0, dpr, 0, 0)
  ctx.clearRect(0, 0, wide, high)
  ctx.strokeStyle = "rgba(255,255,255,.22)"
  ctx.lineWidth = 0.75
  ctx.beginPath()
  for (let r = 1; r < grid.rows; r++) { ctx.moveTo(0, r * h); ctx.lineTo(wide, r * h) }
  for (let c = 1; c < grid.cols; c++) { ctx.moveTo(c * w, 0); ctx.lineTo(c * w, high) }
  ctx.stroke()
  framed(ctx, s.marks, grid.rows, grid.cols, wide, high)
  const box = (token, colour, width, dash = []) => {
    if (token === null || token === undefined || token < grid.prefix) return
    const [row, col] = place(token, grid)
    const edge = Math.max(1, width / 2)
    const frame = [col * w + (col ? 0 : edge), row * h + (row ? 0 : edge), w - (col ? 0 : edge) - (col === grid.cols - 1 ? edge : 0),
      h - (row ? 0 : edge) - (row === grid.rows - 1 ? edge : 0)]
    strokeTwice(ctx, colour, width, () => ctx.strokeRect(...frame), { dash })
  }
  box(s.st.second, COLOURS[1], 3, [6, 3])
  box(s.st.token, COLOURS[0], 3)
  if (s.peek) box(s.peek.token, "#4fc3d9", 2)
  outlineRegion(ctx, s.region, grid, wide, high)
  if (s.hover !== null) box((s.st.rolled ? s.hover : s.shown?.[0]) ?? s.hover, "#ffb000", 3)
}

const COLOURS = ["#ffffff", "#4fc3d9"]

// The two colour bars: the photo's, which has none where it is light and dark, and that of the small maps.
export function bars(s) {
  s.root.classList.toggle("no-scale", s.data.style === "light")
  const paints = { look: s.colours.bar, all: s.colours.solid }
  for (const [where, colours] of Object.entries(paints)) {
    drawBar(s.root.querySelector(`.${where} .scale canvas`), colours)
  }
}

export function drawAtlas(s) {
  const { atlas, cards, shared, log, words } = s.data
  const bytes = fetched(s, atlas, () => drawAtlas(s))?.bytes
  s.root.querySelector(".strip p").textContent = fillIn(words["strip about"], { token: nameOf(s, s.data.state.token) })
  for (const cell of s.atlas.flat()) {
    const facts = cards[cell.block]?.[cell.head]
    const word = facts && headline(s, facts).word
    cell.button.title = fillIn(cell.head === null ? words["mean of one"] : words["one head"], cell) + (word ? `: ${fillIn(words["over all"], { word })}` : "")
    cell.button.setAttribute("aria-label", cell.button.title)
  }
  if (!bytes) return
  const cells = atlas.rows * atlas.cols
  const values = Float32Array.from(bytes, code => s.table[code])
  const all = values.reduce((a, b) => Math.max(a, b), 0)
  s.atlas.flat().forEach(cell => {
    const i = cell.block * atlas.heads + cell.row
    const part = values.subarray(i * cells, (i + 1) * cells)
    fill(s.thumb, part, 0, Math.max(shared ? all : part[largest(part, 0)], least(s)), log, s.colours.solid)
    s.thumbs.drawImage(s.thumb.canvas, cell.block * atlas.cols, cell.row * atlas.rows)
  })
}
