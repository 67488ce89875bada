// The switches' drawing part: the map before and after on one scale.

import { drawBar, fill } from "../explorer/explorer_attention_bytes.js"
import { framed } from "../outlier_frames.js"
import { heatOnPhoto, there } from "../heat_overlay.js"

const MOST_IMAGES = 8

export function scheduleSwitches(s) {
  s.frame ||= requestAnimationFrame(() => paintSwitches(s))
}

/** An image by its address, or null while it is on its way. */
export function imageOf(s, url) {
  if (!s.images.has(url)) s.images.set(url, Object.assign(new Image(), { onload: () => scheduleSwitches(s), src: url }))
  for (const old of s.images.keys()) if (s.images.size > MOST_IMAGES && old !== url) s.images.delete(old)
  const image = s.images.get(url)
  return there(image) ? image : null
}

function paintSwitches(s) {
  s.frame = 0
  for (const canvas of s.root.querySelectorAll("canvas[data-when]")) paintHalf(s, canvas)
  drawBar(s.root.querySelector(".heat"), s.colours.bar)
  drawBar(s.root.querySelector(".drops .bar"), s.colours.signed)
}

function paintHalf(s, canvas) {
  const wide = canvas.clientWidth, { grid } = s.data
  if (!wide) return // a page that is left has no width
  const high = Math.round((wide * grid.rows * grid.step[0]) / (grid.cols * grid.step[1])), dpr = window.devicePixelRatio || 1
  canvas.style.height = `${high}px`
  const size = { width: Math.round(wide * dpr), height: Math.round(high * dpr) }
  if (canvas.width !== size.width || canvas.height !== size.height) Object.assign(canvas, size)
  const ctx = canvas.getContext("2d"), values = s.map[canvas.dataset.when], detail = imageOf(s, s.data.detail)
  ctx.setTransform(dpr, 0, 0, dpr, 0, 0)
  ctx.clearRect(0, 0, wide, high)
  const photo = s.bare && imageOf(s, s.data.photo)
  if (photo) return ctx.drawImage(photo, 0, 0, wide, high)
  if (!values || !detail) return
  fill(s.small, values, 0, s.map.top, false, s.colours.heat)
  heatOnPhoto(ctx, [{ image: s.small.canvas }], detail, wide, high)
  framed(ctx, s.map.outliers[canvas.dataset.when], grid.rows, grid.cols, wide, high)
}
