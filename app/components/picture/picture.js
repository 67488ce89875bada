// The picture a person can point at: draws patches on a canvas, answers hover itself, sends clicks to Python.

import { ARROWS, neighbour } from "../keys.js"
import { framed } from "../outlier_frames.js"
import { heatOnPhoto, holding, placeOf, there } from "../heat_overlay.js"
import { listenRegion, outlineRegion, regionSentence, regionSum } from "../region_selection.js"
import { clamp, fillIn, keepPercent, minus } from "../text_formatting.js"
import { drawable, inParts } from "./compare_curtain.js"

const states = new WeakMap()
const groups = new Map() // pictures that point at the same patch together: the name of a group, and what shows it in each

export default function ({ data, parentElement, setTriggerValue }) {
  const canvas = parentElement.querySelector("canvas")
  const caption = parentElement.querySelector("figcaption")
  let s = states.get(parentElement)
  if (!s) {
    s = { pictures: new Map(), hover: null, cursor: null }
    states.set(parentElement, s)
    s.observer = new ResizeObserver(() => draw(canvas, s))
    s.observer.observe(canvas)
    const divider = parentElement.querySelector(".divider")
    s.share = 0.5
    drawable(divider, canvas, share => {
      s.share = share
      if (s.data) draw(canvas, s)
    })
    s.wasHeld = holding(canvas, bare => {
      s.bare = bare
      draw(canvas, s)
    })
    // numbers of a map; a picture of patches in another order has no regions
    const lacks = () => !s.data?.overlay || !s.data.values || Boolean(s.data.order) || (s.data.step ?? 1) > 1
    listenRegion(canvas, s, { grid: () => s.data, at: e => slotAt(e, canvas, s), blocked: lacks, start: () => s.cursor ?? s.data.selected ?? 0, changed: () => {
      s.show(null)
      s.retell()
      draw(canvas, s)
    } })
  }
  if (s.data && s.data.selected !== data.selected) s.cursor = null
  s.data = data
  // all of it and its line fit on the screen, below a page's title and controls: on a projector, a phone on its side
  const slots = slotsOf(data)
  parentElement.querySelector("figure").toggleAttribute("data-counted", Boolean(data.counted))
  for (const [name, texts] of Object.entries(countedTexts(data))) {
    parentElement.querySelector(`.${name}`).replaceChildren(...texts.map(text => Object.assign(document.createElement("span"), { textContent: text })))
  }
  const { style } = parentElement.querySelector("figure")
  style.setProperty("--shape", String((slots.cols * data.cell[1]) / (slots.rows * data.cell[0])))
  style.maxWidth = "calc(var(--gutter, 0px) + max(260px, (100vh - var(--beside-picture, 24.5rem)) * var(--shape)))"
  // it has a name, so now it can be reached
  const told = [data.label, data.told, data.words.keys, data.overlay && data.words.hold]
  canvas.setAttribute("aria-label", told.filter(Boolean).join(". ").replaceAll(".. ", ". "))
  canvas.setAttribute("role", "application")
  canvas.tabIndex = 0
  const divider = parentElement.querySelector(".divider")
  divider.hidden = !data.other
  if (data.other) divider.setAttribute("aria-label", data.other.label)
  const sources = [data.image, data.overlay, data.detail, data.other?.overlay]
  for (const source of sources) load(source, s, () => draw(canvas, s))
  for (const old of [...s.pictures.keys()]) if (!sources.includes(old)) s.pictures.delete(old)

  // the line below: the region, or what is pointed at, or what was chosen
  s.retell = () => tell(caption, s.hover ?? slotOf(s.data.selected, s.data), s.data, s.region)
  const follow = slot => {
    if (slot === s.hover) return
    s.hover = slot
    s.retell()
    draw(canvas, s)
  }
  const show = (slot, fromKeys) => {
    if (fromKeys) s.cursor = slot
    if (slot === s.hover) return
    follow(slot)
    for (const other of groups.get(s.data.group) ?? []) if (other !== follow) other(slot)
  }
  leave(s)
  Object.assign(s, { follow, show })
  if (data.group) groups.set(data.group, (groups.get(data.group) ?? new Set()).add(follow))
  s.group = data.group
  canvas.onpointermove = e => show(slotAt(e, canvas, s), false)
  canvas.onpointerleave = () => show(null, false)
  canvas.onclick = e => {
    const slot = slotAt(e, canvas, s)
    if (!s.wasHeld() && slot !== null) choose(slot)
  }
  canvas.onkeydown = e => {
    const step = ARROWS[e.key]
    if (step) {
      e.preventDefault()
      const from = s.cursor ?? slotOf(s.data.selected, s.data) ?? 0
      show(neighbour(from, step, slotsOf(s.data)), true)
    } else if ((e.key === "Enter" || e.key === " ") && s.cursor !== null) {
      e.preventDefault()
      choose(s.cursor)
    }
  }
  const choose = slot => setTriggerValue("picked", patchIn(slot, s.data))
  s.fitRegion()
  s.retell()
  draw(canvas, s)
  return () => { leave(s); s.observer.disconnect() }
}

const leave = s => groups.get(s.group)?.delete(s.follow)
// A slot shows a patch: each its own, in an `order`, or every `step`-th of rows and columns.
const slotsOf = ({ rows, cols, step = 1 }) => ({ rows: Math.ceil(rows / step), cols: Math.ceil(cols / step) })
export function patchIn(slot, data) {
  if (data.order) return data.order[slot]
  const { cols } = slotsOf(data), { step = 1 } = data
  return Math.floor(slot / cols) * step * data.cols + (slot % cols) * step
}
export function slotOf(patch, data) {
  if (patch === null || patch === undefined) return patch
  if (data.order) return data.order.indexOf(patch)
  const { step = 1 } = data
  const row = Math.floor(patch / data.cols), col = patch % data.cols
  return row % step || col % step ? null : (row / step) * slotsOf(data).cols + col / step
}

const MOST_NUMBERS = 8 // along a side: of more rows or columns only some have theirs

/** What stands beside each row of slots and above each column; the first says what is counted. */
export function countedTexts(data) {
  const { rows, cols } = slotsOf(data), { step = 1, counted, words } = data
  const along = (count, first) => Array.from({ length: counted ? count : 0 }, (_, i) =>
    i % Math.ceil(count / MOST_NUMBERS) ? "" : i ? String(i * step) : first)
  return { columns: along(cols, words["first column"]), rows: along(rows, words["first row"]) }
}

function load(source, s, done) {
  if (!source || s.pictures.has(source)) return
  const image = new Image()
  image.onload = done
  image.src = source
  s.pictures.set(source, image)
}

function layout(canvas, s) {
  const { cell, gutter } = s.data
  const { rows, cols } = slotsOf(s.data)
  const units = cols * cell[1] + (cols - 1) * gutter
  const scale = canvas.clientWidth / units
  return { scale, w: cell[1] * scale, h: cell[0] * scale, gap: gutter * scale, high: (rows * cell[0] + (rows - 1) * gutter) * scale }
}

export function slotAt(event, canvas, s) {
  const { w, h, gap } = layout(canvas, s)
  const box = canvas.getBoundingClientRect(), { clientX, clientY } = placeOf(event)
  const col = Math.floor((clientX - box.left) / (w + gap))
  const row = Math.floor((clientY - box.top) / (h + gap))
  const { rows, cols } = slotsOf(s.data)
  const inside = row >= 0 && col >= 0 && row < rows && col < cols
  return inside ? row * cols + col : null
}

// The line below: of a second picture beside a first it is not seen as long as it only says what the first one's says, too.
function tell(caption, slot, data, region) {
  caption.textContent = region ? describeRegion(region, data) : describe(slot, data)
  caption.toggleAttribute("data-hint", !region && (slot === null || slot === undefined))
}

/** What a region gets of each map: of shares also in even ones. */
export function describeRegion(region, data) {
  const { words, unit } = data
  const said = ({ values, even }) => {
    if (even) return regionSentence(values.map(value => value / 100), 0, region, data, { even: even / 100, words })
    const { sum, count } = regionSum(values, 0, region, data)
    return fillIn(words["region value"], { count, unit, value: minus(Number(sum.toPrecision(3))) })
  }
  return data.other ? data.other.names.map((name, i) => `${name}: ${said(i ? data.other : data)}`).join(" · ") : said(data)
}

export function describe(slot, data) {
  if (slot === null || slot === undefined) return (data.overlay && data.words.hold) || "\u00a0"
  const patch = patchIn(slot, data)
  const row = Math.floor(patch / data.cols)
  const col = patch % data.cols
  const [h, w] = data.cell
  const place = fillIn(data.words.patch, { patch, row, col }) + ` · x ${col * w}–${(col + 1) * w - 1}, y ${row * h}–${(row + 1) * h - 1} px`
  const maps = [data, ...(data.other ? [data.other] : [])].filter(map => map.values && map.values[patch] !== null)
  const said = read(maps.map(map => map.values[patch]), maps.map(map => map.even), data)
  const value = said.map((one, i) => ` · ${data.other ? `${data.other.names[i]} ` : ""}${one}`).join("")
  const marked = data.marks?.includes(patch) ? ` · ${data.words.outlier}` : ""
  return data.order && patch !== slot ? fillIn(data.words.slot, { slot, place: place + value + marked }) : place + value + marked
}

// Values with their unit, and how many even shares of all tokens each is; of two values with as many digits after the point.
function read(values, even, data) {
  const times = alike(values.map((value, i) => value / even[i]), 2)
  return alike(values, 3).map((value, i) => `${keepPercent(`${value} ${data.unit}`)}${even[i] ? ` · ${fillIn(data.words.times, { times: times[i] })}` : ""}`)
}

// As many of the largest one's digits as count.
function alike(values, count) {
  const most = Math.max(...values.map(Math.abs))
  const written = values.length > 1 && most > 0 && most < Infinity
    ? values.map(value => value.toFixed(clamp(count - 1 - Math.floor(Math.log10(most)), 20)))
    : values.map(value => Number(value.toPrecision(count)))
  return written.map(minus)
}


function draw(canvas, s) {
  const { order, gutter, overlay, detail, selected, lines, smooth, strongest } = s.data
  const { rows, cols } = slotsOf(s.data)
  const { w, h, gap, high } = layout(canvas, s)
  if (!canvas.clientWidth) return
  const dpr = window.devicePixelRatio || 1
  canvas.style.height = high + "px"
  const image = s.pictures.get(s.data.image)
  if (!image?.complete) return // until it is there, what was drawn stays: no grid over nothing
  canvas.width = Math.round(canvas.clientWidth * dpr)
  canvas.height = Math.round(high * dpr)
  canvas.parentElement.dataset.drawn = ""
  const ctx = canvas.getContext("2d")
  ctx.scale(dpr, dpr)
  ctx.imageSmoothingEnabled = smooth
  ctx.imageSmoothingQuality = "high"
  const at = slot => [(slot % cols) * (w + gap), Math.floor(slot / cols) * (h + gap)]
  if (image.naturalWidth) {
    if (!order && !gutter) ctx.drawImage(image, 0, 0, canvas.clientWidth, high)
    else for (let slot = 0; slot < rows * cols; slot++) drawPatch(ctx, image, patchIn(slot, s.data), s.data, [...at(slot), w, h])
  }
  const lay = (url, marks) => {
    const heat = !s.bare && s.pictures.get(url), fine = s.pictures.get(detail)
    if (there(heat)) heatOnPhoto(ctx, [{ image: heat }], fine, canvas.clientWidth, high)
    if (!s.bare) framed(ctx, marks, rows, cols, canvas.clientWidth, high)
  }
  const { other, marks } = s.data
  if (other) inParts(ctx, s.share, canvas.clientWidth, high, [() => lay(overlay, marks), () => lay(other.overlay, other.marks)])
  else lay(overlay, [])
  if (!s.bare) for (const patch of strongest) outline(ctx, at(slotOf(patch, s.data)), w, h, "#ffd60a", 2)
  if (lines && !gutter && !s.bare) grid(ctx, rows, cols, w, h)
  if (!s.bare && !other) framed(ctx, marks, rows, cols, canvas.clientWidth, high)
  const shown = slotOf(selected, s.data)
  if (!s.bare && shown !== null && shown !== undefined && shown >= 0) outline(ctx, at(shown), w, h, "#ffffff", 3)
  if (!s.bare) outlineRegion(ctx, s.region, s.data, canvas.clientWidth, high)
  if (s.bare || s.hover === null) return
  const box = s.data.enlarge ? enlarged([...at(s.hover), w, h], canvas.clientWidth, high) : [...at(s.hover), w, h]
  if (s.data.enlarge) drawPatch(ctx, image, patchIn(s.hover, s.data), s.data, box)
  outline(ctx, [box[0], box[1]], box[2], box[3], "#ffb000", 2.5)
}

/** @param {CanvasRenderingContext2D} ctx @param {HTMLImageElement} image @param {number} patch @param {{rows: number, cols: number}} data @param {number[]} box */
function drawPatch(ctx, image, patch, { rows, cols }, [x, y, w, h]) {
  const wide = image.naturalWidth / cols, high = image.naturalHeight / rows
  ctx.drawImage(image, (patch % cols) * wide, Math.floor(patch / cols) * high, wide, high, x, y, w, h)
}

/** A box around the same middle, a third of the picture wide where it was less, moved until it lies within the picture.
 * @param {number[]} box @param {number} wide @param {number} high */
export function enlarged([x, y, w, h], wide, high) {
  const by = Math.max(1, wide / 3 / w)
  const fit = (from, size, most) => Math.max(0, Math.min(from + size / 2 - (by * size) / 2, most - by * size))
  return [fit(x, w, wide), fit(y, h, high), by * w, by * h]
}

function grid(ctx, rows, cols, w, h) {
  ctx.strokeStyle = "rgba(255,255,255,.28)"
  ctx.lineWidth = 0.75
  ctx.beginPath()
  for (let r = 1; r < rows; r++) { ctx.moveTo(0, r * h); ctx.lineTo(cols * w, r * h) }
  for (let c = 1; c < cols; c++) { ctx.moveTo(c * w, 0); ctx.lineTo(c * w, rows * h) }
  ctx.stroke()
}

/** @param {CanvasRenderingContext2D} ctx @param {number[]} corner @param {number} w @param {number} h @param {string} colour @param {number} width */
function outline(ctx, [x, y], w, h, colour, width) {
  ctx.strokeStyle = "rgba(0,0,0,.75)"
  ctx.lineWidth = width + 2
  ctx.strokeRect(x, y, w, h)
  ctx.strokeStyle = colour
  ctx.lineWidth = width
  ctx.strokeRect(x, y, w, h)
}
