// The Look page's drawing part: heat on the photo, the patches in their sequence, filters, positions, distances and rollout.

import { even, fetched, fill, largest, place, standingOut } from "../explorer/explorer_attention_bytes.js"
import { heatOnPhoto, scaleTop, there } from "../heat_overlay.js"
import { framed, strokeTwice } from "../outlier_frames.js"
import { outlineRegion } from "../region_selection.js"
import { strongest, numbersOf, painted, ringed, signedRow, lines } from "./look_map_values.js"
import { tell } from "./look_sentences.js"

export const PINNED = "#ffffff", POINTED = "#ffb000"
const FLIGHT_MS = 800, RINGED = 3, STREAMS = 40

export function schedule(s) {
  s.again ||= () => schedule(s)
  s.frame ||= requestAnimationFrame(() => paint(s))
}

// An image that Python names by its address, or null while it is on its way.
export function imageOf(s, url) {
  if (!url) return null
  if (!s.images.has(url)) s.images.set(url, Object.assign(new Image(), { onload: () => schedule(s), src: url }))
  const image = s.images.get(url)
  return there(image) ? image : null
}

export function paint(s) {
  s.frame = 0
  const { st } = s
  s.root.toggleAttribute("data-escape", st.patch !== null || st.layer !== null || st.head !== null) // Escape lets go of these first
  s.patch = s.hover ?? st.patch
  const what = painted(s)
  const ready = numbersOf(s, what, s.lit)
  s.root.classList.toggle("waiting", !ready)
  if (ready) paintPhoto(s, (s.what = what))
  outline(s)
  for (const [name, draw] of Object.entries({ patches, filters, positions, distance, rollout })) paintSection(s, name, draw)
  tell(s, ready)
  s.root.dataset.drawn = ""
}

function paintSection(s, name, draw) {
  const section = s.root.querySelector(`section.${name}`)
  if (!s.data.early && !s.data.undefined[name] && section.clientWidth) draw(s, section) // a page that is left has no width
}

// In a lecture on a wide screen all five fit on it (`look.css`).
const ALONE = ":fullscreen, :fullscreen [data-alone]"
const WIDE = matchMedia("(min-width: 1280px) and (min-height: 700px)")
const fitted = s => Boolean(s.data.lecture) && WIDE.matches

// A canvas as large as it is shown, to be drawn on in CSS pixels: its context, width and height.
function sized(canvas, high = canvas.clientHeight) {
  const wide = canvas.clientWidth, dpr = window.devicePixelRatio || 1
  const [width, height] = [Math.round(wide * dpr), Math.round(high * dpr)]
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height })
  const ctx = canvas.getContext("2d")
  ctx.setTransform(dpr, 0, 0, dpr, 0, 0)
  return { ctx, wide, high }
}

function paintPhoto(s, what) {
  const { data } = s, { prefix, rows, cols } = data.grid
  const signed = what.kind === "position"
  s.top = signed ? 1 : scaleTop(s.lit, prefix, even(s))
  if (signed) signedMap(s, s.lit, prefix, s.colours.signedHeat)
  else fill(s.small, s.lit, prefix, s.top, false, s.colours.heat)
  s.marks = signed ? [] : standingOut(s.lit, prefix, data.outliers)
  const { ctx, wide, high } = sized(s.root.querySelector(".lit"))
  ctx.clearRect(0, 0, wide, high)
  const detail = imageOf(s, data.detail)
  heatOnPhoto(ctx, [{ image: s.small.canvas }], detail, wide, high)
  framed(ctx, detail ? s.marks : [], rows, cols, wide, high)
}

function signedMap(s, values, from, colours) {
  const { small } = s
  for (let i = 0; i < small.pixels.length; i++) small.pixels[i] = colours[Math.max(0, Math.min(255, Math.round(127.5 * (1 + values[from + i]))))]
  small.ctx.putImageData(small.image, 0, 0)
}

// What is pinned and pointed at, framed; and how far a head's attention reaches from there on average.
function outline(s) {
  const { grid } = s.data
  const { ctx, wide, high } = sized(s.root.querySelector(".hit"))
  const [w, h] = [wide / grid.cols, high / grid.rows]
  ctx.clearRect(0, 0, wide, high)
  const box = (patch, colour, dash = []) => {
    const [row, col] = place(grid.prefix + patch, grid)
    const frame = [Math.max(col * w, 1.5), Math.max(row * h, 1.5), Math.min(w, wide - col * w - 1.5), Math.min(h, high - row * h - 1.5)]
    strokeTwice(ctx, colour, 2.5, () => ctx.strokeRect(...frame), { dash })
  }
  if (s.patch === null && !s.data.early) box(s.data.middle, PINNED, [3, 3]) // the example of the pictures beside it
  if (s.st.patch !== null) box(s.st.patch, PINNED)
  if (s.hover !== null) box(s.hover, POINTED)
  outlineRegion(ctx, s.region, grid, wide, high)
  const what = painted(s)
  if (!ringed(what, s.data)) return
  const [row, col] = s.patch === null ? [(grid.rows - 1) / 2, (grid.cols - 1) / 2] : place(grid.prefix + s.patch, grid)
  const radius = (s.data.distance.px[what.layer][what.head] * w) / grid.step[1]
  ctx.beginPath()
  ctx.arc((col + 0.5) * w, (row + 0.5) * h, radius, 0, 2 * Math.PI)
  strokeTwice(ctx, POINTED, 2, () => ctx.stroke(), { below: 4 })
}

// 1: the patches, from the grid into their sequence; one as its numbers, and as its embedding

function patches(s, section) {
  const { data } = s, { grid } = data
  const image = imageOf(s, data.pixels)
  const base = section.querySelector(".base"), count = grid.prefix + grid.rows * grid.cols
  const whole = section.matches(ALONE)
  const found = lines(count, base.clientWidth || 600, whole ? 0.55 * window.innerHeight : (fitted(s) ? 5.5 : 8.8) * s.em, whole ? Infinity : 40)
  const high = Math.ceil(found.rows * found.side)
  for (const canvas of section.querySelectorAll(".sequence canvas")) canvas.style.height = high + "px" // before the image comes
  if (!image) return
  s.sequence = found
  const key = [image.src, base.clientWidth, high, s.flown, devicePixelRatio].join()
  if (key !== s.sequenceDrawn) drawSequence(s, base, image, high)
  s.sequenceDrawn = key
  const { ctx, wide } = sized(section.querySelector(".over"), high)
  ctx.clearRect(0, 0, wide, high)
  if (s.flown < 1) return
  for (const [patch, colour] of [[s.st.patch, PINNED], [s.hover, POINTED]]) {
    if (patch === null || patch === undefined) continue
    const [x, y] = inSequence(s, grid.prefix + patch)
    strokeTwice(ctx, colour, 2, () => ctx.strokeRect(x, y, found.side - 1, found.side - 1), { below: 4 })
  }
  vector(s, section, image)
}

const inSequence = ({ sequence: { per, side } }, token) => [(token % per) * side, Math.floor(token / per) * side]

function drawSequence(s, base, image, high) {
  const { grid } = s.data, { side } = s.sequence
  const { ctx, wide } = sized(base, high)
  ctx.clearRect(0, 0, wide, high)
  ctx.imageSmoothingEnabled = side < grid.step[1]
  const cell = high / grid.rows
  for (let token = 0; token < grid.prefix + grid.rows * grid.cols; token++) {
    const [x, y] = inSequence(s, token)
    if (token < grid.prefix) {
      ctx.globalAlpha = s.flown
      ctx.strokeStyle = s.ink
      ctx.strokeRect(x + 1, y + 1, side - 3, side - 3)
      ctx.globalAlpha = 1
      continue
    }
    const patch = token - grid.prefix, [row, col] = place(token, grid)
    const late = (0.4 * patch) / (grid.rows * grid.cols)
    const part = ease(Math.max(0, Math.min(1, (s.flown - late) / 0.6)))
    const [ax, ay] = [col * cell, row * cell], size = cell + (side - 1 - cell) * part
    ctx.drawImage(image, col * grid.step[1], row * grid.step[0], grid.step[1], grid.step[0], ax + (x - ax) * part, ay + (y - ay) * part, size, size)
  }
}

const ease = t => t * t * (3 - 2 * t)

// The patches lift off and line up, once they are seen, and nothing else is painted for it; at once for who wants no motion.
export function fly(s) {
  cancelAnimationFrame(s.flying)
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return (s.flown = 1), schedule(s)
  const start = performance.now()
  const step = now => {
    s.flown = Math.max(0, Math.min(1, (now - start) / FLIGHT_MS))
    if (!s.frame) paintSection(s, "patches", patches)
    if (s.flown < 1) s.flying = requestAnimationFrame(step)
  }
  s.flying = requestAnimationFrame(step)
}

function vector(s, section, image) {
  const { data } = s, { grid } = data, [cut, numbers, embedding] = section.querySelectorAll(".vector canvas")
  const patch = s.patch ?? data.middle, [row, col] = place(grid.prefix + patch, grid), [high, wide] = grid.step
  Object.assign(cut, { width: wide, height: high })
  const ctx = cut.getContext("2d", { willReadFrequently: true })
  ctx.drawImage(image, col * wide, row * high, wide, high, 0, 0, wide, high)
  const rgba = [...ctx.getImageData(0, 0, wide, high).data]
  const inks = [value => [value, value / 8, value / 8], value => [value / 8, value, value / 8], value => [value / 6, value / 4, value]]
  bars(numbers, inks.map((ink, channel) => rgba.filter((_, i) => i % 4 === channel).map(ink)))
  const bytes = data.embedding && fetched(s, data.embedding, s.again)?.bytes
  if (!bytes) return
  const { dims } = data.embedding, row8 = new Int8Array(bytes.buffer).subarray(patch * dims, (patch + 1) * dims)
  const most = Math.max(1, ...Array.from(row8, Math.abs))
  bars(embedding, [Array.from(row8, value => s.signedRgb[Math.round(127.5 * (1 + value / most))])])
}

// Rows of coloured numbers, each a thin bar.
function bars(canvas, rows) {
  const size = { width: rows[0].length, height: rows.length }
  Object.assign(canvas, size)
  const ctx = canvas.getContext("2d"), image = ctx.createImageData(size.width, size.height)
  rows.flat().forEach((rgb, i) => image.data.set([...rgb, 255], 4 * i))
  ctx.putImageData(image, 0, 0)
}

// 2: the filters' principal components; those that make most of the patch's embedding are framed

function filters(s, section) {
  const { sheet, parts } = s.data.filters, image = imageOf(s, sheet.url), canvas = section.querySelector("canvas")
  const high = (canvas.clientWidth * (image ? image.naturalHeight / image.naturalWidth : Math.ceil(sheet.count / sheet.cols) / sheet.cols))
  canvas.style.height = high + "px"
  if (!image) return
  const { ctx, wide } = sized(canvas, high)
  ctx.clearRect(0, 0, wide, high)
  ctx.imageSmoothingEnabled = false
  ctx.drawImage(image, 0, 0, wide, high)
  const bytes = parts && fetched(s, parts, s.again)?.bytes
  if (!bytes) return
  const framedTiles = strongest(new Int8Array(bytes.buffer), s.patch ?? s.data.middle, sheet.count, RINGED)
  const step = wide / sheet.cols
  strokeTwice(ctx, POINTED, 3, () => {
    for (const i of framedTiles) ctx.strokeRect((i % sheet.cols) * step + 2, Math.floor(i / sheet.cols) * step + 2, step - 5, step - 5)
  }, { below: 5, ink: "#000" })
}

// 3: the position's tile, and the tiles of every few positions

function positions(s, section) {
  const { data } = s, { grid, positions: spec } = data, map = fetched(s, spec, s.again)
  const ratio = (grid.rows * grid.step[0]) / (grid.cols * grid.step[1])
  const one = section.querySelector(".one"), tiles = section.querySelector(".tiles")
  const room = fitted(s) || section.matches(ALONE) ? section.querySelector(".body").clientHeight : Infinity
  for (const canvas of [one, tiles]) canvas.style.maxWidth = room / ratio + "px"
  for (const canvas of [one, tiles]) canvas.style.height = canvas.clientWidth * ratio + "px"
  if (!map) return
  const patch = s.over?.position ?? s.patch ?? data.middle
  const row = (s.similar ||= new Float32Array(s.lit.length))
  const draw = (ctx, at, x, y, wide, high) => {
    signedRow(map, grid.prefix + at, grid.prefix, row)
    signedMap(s, row, grid.prefix, s.colours.signed)
    ctx.imageSmoothingEnabled = false
    ctx.drawImage(s.small.canvas, x, y, wide, high)
  }
  const { ctx, wide, high } = sized(one, one.clientWidth * ratio)
  draw(ctx, patch, 0, 0, wide, high)
  const [r, c] = place(grid.prefix + patch, grid), [w, h] = [wide / grid.cols, high / grid.rows]
  Object.assign(ctx, { strokeStyle: s.ink, lineWidth: 2 })
  ctx.strokeRect(c * w, r * h, w, h)
  const all = sized(tiles, tiles.clientWidth * ratio), [tw, th] = [all.wide / spec.side[1], all.high / spec.side[0]]
  const key = [spec.url, all.wide, devicePixelRatio, s.over?.position, s.ink].join()
  if (key === s.tilesDrawn) return
  s.tilesDrawn = key
  all.ctx.clearRect(0, 0, all.wide, all.high)
  spec.tiles.forEach((at, i) => {
    const [x, y] = [(i % spec.side[1]) * tw, Math.floor(i / spec.side[1]) * th]
    draw(all.ctx, at, x + 2, y + 2, tw - 4, th - 4)
    if (at !== s.over?.position) return
    Object.assign(all.ctx, { strokeStyle: POINTED, lineWidth: 2 })
    all.ctx.strokeRect(x + 1, y + 1, tw - 2, th - 2)
  })
}

// 4: every head's mean distance, a dot a head; hollow where tokens that are no patches get half of it or more

function distance(s, section) {
  const { data } = s, { px, prefix, uniform } = data.distance
  const canvas = section.querySelector("canvas"), chosen = painted(s)
  const key = [chosen.kind, chosen.layer, chosen.head, canvas.clientWidth, canvas.clientHeight, devicePixelRatio, s.ink].join()
  if (key === s.distanceDrawn) return
  s.distanceDrawn = key
  const { ctx, wide, high } = sized(canvas), [left, below, above] = [2.9 * s.em, 2.1 * s.em, 0.55 * s.em]
  const most = 1.08 * Math.max(uniform, ...px.flat())
  const x = layer => left + ((layer + 0.5) / px.length) * (wide - left - 0.5 * s.em), y = value => high - below - (value / most) * (high - below - above)
  Object.assign(ctx, { font: s.font, fillStyle: s.soft, strokeStyle: s.line, lineWidth: 1, textAlign: "right", textBaseline: "middle" })
  ctx.clearRect(0, 0, wide, high)
  const step = [10, 20, 25, 50, 100, 200].find(one => most / one <= 6) ?? 500
  for (let value = 0; value <= most; value += step) {
    ctx.fillText(value === 0 ? "0" : `${value}`, left - 0.5 * s.em, y(value))
    ctx.beginPath()
    ctx.moveTo(left, y(value))
    ctx.lineTo(wide, y(value))
    ctx.stroke()
  }
  ctx.textAlign = "center"
  const every = Math.ceil(px.length / 16)
  for (let layer = 0; layer < px.length; layer += every) ctx.fillText(`${layer}`, x(layer), high - below + 0.8 * s.em)
  ctx.fillText(data.words["layer axis"], (left + wide) / 2, high - 0.45 * s.em)
  ctx.setLineDash([5, 4])
  ctx.strokeStyle = s.soft
  ctx.beginPath()
  ctx.moveTo(left, y(uniform))
  ctx.lineTo(wide, y(uniform))
  ctx.stroke()
  ctx.setLineDash([])
  ctx.textAlign = "left"
  ctx.fillText("px", 2, above + 2)
  s.dots = px.flatMap((heads, layer) => heads.map((value, head) => {
    const at = [x(layer), y(value)], here = chosen.kind === "attention" && chosen.layer === layer && (chosen.head === null || chosen.head === head)
    ctx.beginPath()
    ctx.arc(at[0], at[1], (here ? 0.4 : 0.27) * s.em, 0, 2 * Math.PI)
    Object.assign(ctx, { fillStyle: here ? POINTED : s.accent, strokeStyle: here ? POINTED : s.accent, lineWidth: 1.5 })
    if (prefix?.[layer][head] >= 0.5) ctx.stroke()
    else ctx.fill()
    return at
  }))
}

// 5: rollout up to a layer on the photo, and each patch's share streaming to where the answer is read

function rollout(s, section) {
  const { data } = s, { grid } = data, step = s.step ?? data.blocks - 1
  const canvas = section.querySelector("canvas"), { ctx, wide, high } = sized(canvas)
  const ratio = (grid.cols * grid.step[1]) / (grid.rows * grid.step[0])
  const [pw, ph] = [Math.min(high * ratio, wide * 0.6), Math.min(high, (wide * 0.6) / ratio)]
  const end = [wide - 3 * s.em, high / 2], [w, h] = [pw / grid.cols, ph / grid.rows]
  const stream = (into, token, style) => {
    const [row, col] = place(token, grid), [x, y] = [(col + 0.5) * w, (row + 0.5) * h]
    Object.assign(into, style)
    into.beginPath()
    into.moveTo(x, y)
    into.bezierCurveTo(Math.max(x, pw) + 30, y, end[0] - 90, end[1] + (y - end[1]) * 0.15, end[0] - s.em, end[1])
    into.stroke()
  }
  const key = [data.steps.url, step, canvas.width, canvas.height, s.ink].join()
  if (!canvas.width || !canvas.height) return
  if (key !== s.streamsDrawn) s.streamsDrawn = streams(s, step, pw, ph, stream, canvas) ? key : ""
  ctx.clearRect(0, 0, wide, high)
  ctx.drawImage(s.streams.canvas, 0, 0, wide, high)
  if (s.patch !== null) stream(ctx, grid.prefix + s.patch, { strokeStyle: POINTED, lineWidth: 2.5 })
  Object.assign(ctx, { strokeStyle: s.ink, fillStyle: s.ink, lineWidth: 2, font: s.font, textAlign: "center", textBaseline: "middle" })
  ctx.beginPath()
  ctx.arc(end[0], end[1], s.em, 0, 2 * Math.PI)
  ctx.stroke()
  const name = data.words["readout short"]
  ctx.fillText(name, Math.min(end[0], wide - ctx.measureText(name).width / 2 - 2), end[1] + 2 * s.em)
}

// The photo with rollout up to a layer, and the strongest streams, kept until the layer changes; false where it isn't there yet.
function streams(s, step, pw, ph, stream, { width, height }) {
  const { data } = s, { prefix } = data.grid, values = new Float32Array(s.lit.length), detail = imageOf(s, data.detail)
  const into = (s.streams ||= document.createElement("canvas").getContext("2d"))
  Object.assign(into.canvas, { width, height })
  if (!numbersOf(s, { kind: "step", layer: step }, values) || !detail) return false
  const dpr = window.devicePixelRatio || 1, most = values[largest(values, prefix)]
  into.setTransform(dpr, 0, 0, dpr, 0, 0)
  fill(s.small, values, prefix, scaleTop(values, prefix, even(s)), false, s.colours.heat)
  heatOnPhoto(into, [{ image: s.small.canvas }], detail, pw, ph)
  const strongest = [...values.keys()].slice(prefix).sort((a, b) => values[a] - values[b]).slice(-STREAMS)
  for (const token of strongest) {
    const share = most > 0 ? values[token] / most : 0
    stream(into, token, { strokeStyle: s.accent, lineWidth: 0.5 + 3 * share, globalAlpha: 0.12 + 0.5 * share })
  }
  return true
}
