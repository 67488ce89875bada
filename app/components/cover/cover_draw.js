// Covering's drawing part: the photo with its covered patches, and the maps before and after.

import { drawBar, fill } from "../explorer/explorer_attention_bytes.js"
import { framed, strokeTwice } from "../outlier_frames.js"
import { canvasInPx, heatOnPhoto, there } from "../heat_overlay.js"
import { nearestKept } from "./cover_tools_and_undo.js"

const POINTED_AT = "#ffb000", KEPT_IMAGES = 12

export function scheduleCover(s) {
  s.frame ||= requestAnimationFrame(() => paintCover(s))
}

/** An image by its address, or null while it is on its way. */
export function imageFor(s, url) {
  if (!url) return null
  if (!s.images.has(url)) s.images.set(url, Object.assign(new Image(), { onload: () => scheduleCover(s), src: url }))
  for (const old of s.images.keys()) if (s.images.size > KEPT_IMAGES && ![url, s.data.photo, s.data.detail, s.data.layer].includes(old)) s.images.delete(old)
  const image = s.images.get(url)
  return there(image) ? image : null
}

function paintCover(s) {
  s.frame = 0
  const hit = s.root.querySelector(".hit")
  if (!hit.clientWidth) return // a page that is left has no width
  const place = canvasInPx(hit)
  if (!s.bare) {
    fillCovered(s, place)
    gridLines(s, place)
    border(place, s.mask, s.data.grid)
    preview(s, place)
  }
  for (const canvas of s.root.querySelectorAll(".pair canvas")) paintMap(s, canvas)
  for (const bar of s.root.querySelectorAll(".bar")) drawBar(bar, s.colours.bar)
}

/** The box of a patch: x, y, width, height.
 * @param {number} patch @param {{ rows: number, cols: number }} grid @param {number} wide @param {number} high @returns {[number, number, number, number]} */
function boxOf(patch, { rows, cols }, wide, high) {
  return [((patch % cols) * wide) / cols, (Math.floor(patch / cols) * high) / rows, wide / cols, high / rows]
}

// What the model is shown in place of covered patches; of removed ones the page, for nothing is there.
function fillCovered(s, { ctx, wide, high }) {
  const { grid, layer, photo } = s.data, kind = s.data.state.fill
  const neighbours = kind === "neighbour" ? nearestKept(s.mask, grid) : null
  const image = kind === "removed" ? null : imageFor(s, neighbours && s.mask.includes(0) ? photo : layer)
  s.mask.forEach((on, patch) => {
    if (!on) return
    const [x, y, w, h] = boxOf(patch, grid, wide, high)
    if (kind === "removed") return hole(s, ctx, [x, y, w, h])
    if (!image) return
    const from = boxOf(neighbours && s.mask.includes(0) ? neighbours[patch] : patch, grid, image.naturalWidth, image.naturalHeight)
    ctx.drawImage(image, ...from, x, y, w + 0.5, h + 0.5)
  })
}

// No token: the page's own ground, with a stroke through it.
function hole(s, ctx, [x, y, w, h]) {
  const style = getComputedStyle(s.root)
  ctx.fillStyle = style.getPropertyValue("--st-background-color") || "#fff"
  ctx.fillRect(x, y, w + 0.5, h + 0.5)
  ctx.strokeStyle = style.getPropertyValue("--st-text-color") || "#000"
  ctx.globalAlpha = 0.35
  ctx.lineWidth = 1
  ctx.beginPath()
  ctx.moveTo(x + 0.2 * w, y + 0.8 * h)
  ctx.lineTo(x + 0.8 * w, y + 0.2 * h)
  ctx.stroke()
  ctx.globalAlpha = 1
}

function gridLines(s, { ctx, wide, high }) {
  const { rows, cols } = s.data.grid
  ctx.strokeStyle = "rgba(255,255,255,.2)"
  ctx.lineWidth = 0.75
  ctx.beginPath()
  for (let r = 1; r < rows; r++) { ctx.moveTo(0, (r * high) / rows); ctx.lineTo(wide, (r * high) / rows) }
  for (let c = 1; c < cols; c++) { ctx.moveTo((c * wide) / cols, 0); ctx.lineTo((c * wide) / cols, high) }
  ctx.stroke()
}

// A line around what is covered, seen on every photo and every heat.
function border({ ctx, wide, high }, mask, grid, colour = "#ffffff", line = 1.5) {
  const { rows, cols } = grid
  strokeTwice(ctx, colour, line, () => {
    ctx.beginPath()
    mask.forEach((on, patch) => {
      if (!on) return
      const [x, y, w, h] = boxOf(patch, grid, wide, high), row = Math.floor(patch / cols), col = patch % cols
      if (row === 0 || !mask[patch - cols]) { ctx.moveTo(x, y); ctx.lineTo(x + w, y) }
      if (row === rows - 1 || !mask[patch + cols]) { ctx.moveTo(x, y + h); ctx.lineTo(x + w, y + h) }
      if (col === 0 || !mask[patch - 1]) { ctx.moveTo(x, y); ctx.lineTo(x, y + h) }
      if (col === cols - 1 || !mask[patch + 1]) { ctx.moveTo(x + w, y); ctx.lineTo(x + w, y + h) }
    })
    ctx.stroke()
  })
}

// What a click would cover.
function preview(s, place) {
  if (!s.ahead?.length) return
  const mask = new Uint8Array(s.mask.length)
  for (const patch of s.ahead) mask[patch] = 1
  place.ctx.fillStyle = "rgba(255,176,0,.25)"
  for (const patch of s.ahead) place.ctx.fillRect(...boxOf(patch, s.data.grid, place.wide, place.high))
  border(place, mask, s.data.grid, POINTED_AT, 2)
}

// A map before or after, on one scale with the other, and where patches are covered.
function paintMap(s, canvas) {
  const { grid, detail, state: { fill: kind } } = s.data, { map, when } = canvas.dataset, one = s.maps[map]
  const wide = canvas.clientWidth, high = Math.round((wide * grid.rows * grid.step[0]) / (grid.cols * grid.step[1]))
  canvas.style.height = `${high}px`
  const place = canvasInPx(canvas, high), values = when === "before" ? one.before : one.after
  const fine = imageFor(s, detail), photo = (s.bare || s.held) && imageFor(s, s.data.photo)
  if (photo) return place.ctx.drawImage(photo, 0, 0, wide, high)
  if (!values || !fine) return
  fill(s.small, values, 0, one.top, false, s.colours.heat)
  heatOnPhoto(place.ctx, [{ image: s.small.canvas }], fine, wide, high)
  framed(place.ctx, one.outliers[when], grid.rows, grid.cols, wide, high)
  if (when === "before") return
  const shown = s.shown // what Python's answer is of, not what is being painted now
  if (kind === "removed") shown.forEach((on, patch) => { if (on) hole(s, place.ctx, boxOf(patch, grid, wide, high)) })
  border(place, shown, grid)
}
