// Live's drawing part: the frame, and beside it the heat of rollout or of a layer, of the answer or of the patch that is pointed at.

import { drawBar, fill } from "../explorer/explorer_attention_bytes.js"
import { framed, strokeTwice } from "../outlier_frames.js"
import { outlineRegion, regionSentence } from "../region_selection.js"
import { canvasInPx, heatOnPhoto, scaleTop, there } from "../heat_overlay.js"
import { digits, fillIn } from "../text_formatting.js"
import { alone, attended, rollout } from "./live_rollout_and_detail.js"

const POINTED_AT = "#ffb000"

export function schedule(s) {
  s.painting ||= requestAnimationFrame(() => paint(s))
}

/** The frame that was answered, and its detail, as pictures. */
export function adoptFrame(s) {
  const { pictures, latest: { wide, high } } = s
  const on = part => put(pictures?.own && pictures[part], new ImageData(s.latest[part], wide, high))
  s.pictures = { seen: on("seen"), detail: on("detail"), own: true }
  schedule(s)
}

/** @param {HTMLCanvasElement | false | undefined} canvas @param {ImageData} pixels */
function put(canvas, pixels) {
  const { width, height } = pixels, on = canvas || document.createElement("canvas")
  if (on.width !== width || on.height !== height) Object.assign(on, { width, height })
  on.getContext("2d").putImageData(pixels, 0, 0)
  return on
}

/** The photo at hand as the server draws it. */
export function adoptImages(s, seen, detail) {
  const image = src => Object.assign(new Image(), { onload: () => schedule(s), src })
  if (s.pictures?.from !== seen) s.pictures = { seen: image(seen), detail: image(detail), from: seen }
  schedule(s)
}

/** What is drawn: a value a patch from index `from` on, and which patch asks (null: where the answer is read). */
export function valuesNow(s) {
  const { grid, blocks, readout } = s.data, tokens = grid.prefix + grid.rows * grid.cols
  if (!s.latest) return { values: s.server.rolled, from: 0, patch: null }
  const patch = s.hover ?? s.pinned, { attention, rolled } = s.latest
  if (patch === null && s.layer === null) return { values: rolled, from: grid.prefix, patch }
  const start = patch === null ? new Float32Array(tokens) : alone(tokens, grid.prefix + patch)
  if (patch === null) for (const token of readout) start[token] = 1 / readout.length
  const values = s.layer === null ? rollout(attention, blocks, tokens, start) : attended(attention, s.layer, tokens, start)
  return { values, from: grid.prefix, patch }
}

/** The heat of what is drawn, on the frame's detail. @param {any} s @param {any} ctx @param {number} wide @param {number} high */
export function drawHeat(s, ctx, wide, high) {
  const { values, from } = valuesNow(s), { grid } = s.data
  fill(s.small, values, from, scaleTop(values, from, 1 / (grid.prefix + grid.rows * grid.cols)), false, s.colours.heat)
  heatOnPhoto(ctx, [{ image: s.small.canvas }], s.pictures.detail, wide, high)
}

function paint(s) {
  s.painting = 0
  const hit = s.root.querySelector(".hit"), { grid, words } = s.data
  if (!hit.clientWidth || !there(s.pictures?.seen)) return // a page that is left has no width
  const frame = s.root.querySelector(".frame")
  if (frame.clientWidth) {
    const { ctx, wide, high } = canvasInPx(frame)
    ctx.imageSmoothingQuality = "high"
    ctx.drawImage(s.pictures.seen, 0, 0, wide, high)
  }
  const { ctx, wide, high } = canvasInPx(hit), { values, from, patch } = valuesNow(s)
  const even = 1 / (grid.prefix + grid.rows * grid.cols), top = scaleTop(values, from, even)
  if (s.bare) ctx.drawImage(s.pictures.seen, 0, 0, wide, high)
  else drawHeat(s, ctx, wide, high)
  if (!s.bare) framed(ctx, [...s.covered], grid.rows, grid.cols, wide, high) // at once: the answer comes later
  if (patch !== null && !s.bare) outline(ctx, patch, grid, wide, high)
  if (!s.bare) outlineRegion(ctx, s.region, grid, wide, high)
  drawBar(s.root.querySelector(".bar"), s.colours.bar)
  s.root.querySelector(".top").textContent = fillIn(words.times, { times: digits(top / even) })
  tell(s, patch)
  if (s.region) s.root.querySelector(".pointed").textContent = regionSentence(values, from, s.region, grid, { even, words })
}

function outline(ctx, patch, { rows, cols }, wide, high) {
  const [w, h] = [wide / cols, high / rows]
  strokeTwice(ctx, POINTED_AT, 2, () => ctx.strokeRect((patch % cols) * w, Math.floor(patch / cols) * h, w, h))
}

function tell(s, patch) {
  const { words, grid, readoutName } = s.data, facts = { layer: s.layer, token: readoutName }
  const name = `${patch === null ? "map" : "patch"} ${s.layer === null ? "rollout" : "layer"}`
  const row = patch === null ? {} : { patch, row: Math.floor(patch / grid.cols), col: patch % grid.cols }
  s.root.querySelector(".pointed").textContent = fillIn(words[name], { ...facts, ...row })
  const slider = s.root.querySelector(".layers input")
  s.root.querySelector(".layers output").textContent = s.layer === null ? "" : String(s.layer)
  slider.classList.toggle("none", s.layer === null)
  s.root.querySelector("[data-act=rollout]").setAttribute("aria-pressed", String(s.layer === null))
}
