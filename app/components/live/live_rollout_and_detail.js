// Live's parts that need no browser: what is made of a frame's logits and attention, and the fine detail that heat is laid under.

import { fitting, reused } from "./live_arrays.js"

const LUMA = [0.2126, 0.7152, 0.0722], DETAIL = 36, BLUR = 0.4, GOLDEN_RATIO = 0.618034 // `vitcore/figures/heat_overlay.py`

/** Attention rollout (Abnar & Zuidema 2020) from a distribution over tokens: a row vector times each layer, half of it the identity.
 * @param {Float32Array} attention (L, T, T), a row a query @param {number} layers @param {number} tokens @param {Float32Array} start (T,) */
export function rollout(attention, layers, tokens, start) {
  let row = Float64Array.from(start)
  for (let layer = layers - 1; layer >= 0; layer--) {
    const next = new Float64Array(tokens)
    for (let i = 0, at = layer * tokens * tokens; i < tokens; i++, at += tokens) {
      if (row[i]) for (let j = 0; j < tokens; j++) next[j] += row[i] * attention[at + j]
    }
    for (let j = 0; j < tokens; j++) next[j] = 0.5 * next[j] + 0.5 * row[j]
    row = next
  }
  return Float32Array.from(row)
}

/** What a distribution over tokens attends to in one layer: (T,).
 * @param {Float32Array} attention @param {number} layer @param {number} tokens @param {Float32Array} start */
export function attended(attention, layer, tokens, start) {
  const out = new Float32Array(tokens)
  for (let i = 0, at = layer * tokens * tokens; i < tokens; i++, at += tokens) {
    if (start[i]) for (let j = 0; j < tokens; j++) out[j] += start[i] * attention[at + j]
  }
  return out
}

/** All on one token.
 * @param {number} tokens @param {number} token */
export function alone(tokens, token) {
  const start = new Float32Array(tokens)
  start[token] = 1
  return start
}

/** The likeliest classes with their probabilities (`vitcore/probabilities.py`): by softmax, or each by itself by sigmoid; of features none.
 * @param {Float32Array} logits @param {number} count @param {"softmax" | "sigmoid" | "features"} output @returns {[number, number][]} */
export function topClasses(logits, count, output) {
  if (output === "features") return []
  const most = logits.reduce((a, b) => Math.max(a, b), -Infinity), each = Float64Array.from(logits, v => Math.exp(v - most))
  const sum = each.reduce((a, b) => a + b, 0), share = i => (output === "sigmoid" ? 1 / (1 + Math.exp(-logits[i])) : each[i] / sum)
  const order = [...each.keys()].sort((a, b) => logits[b] - logits[a]).slice(0, count)
  return order.map(i => [i, share(i)])
}

/** A probability as a person reads it (`translation.percent`): what is not 0 does not read 0.0 %.
 * @param {number} share */
export function shownShare(share) {
  const written = (100 * share).toFixed(1)
  return share > 0 && !Number(written) ? "< 0.1\u00a0%" : `${written}\u00a0%`
}

/** The largest difference of two arrays.
 * @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
export function largestDifference(a, b) {
  let most = a.length === b.length ? 0 : Infinity
  for (let i = 0; i < a.length; i++) most = Math.max(most, Math.abs(a[i] - b[i]))
  return most
}

/** A frame's fine detail as RGBA of high × wide: `fine_detail` in Python says how it is made and why.
 * @param {Uint8ClampedArray} rgba @param {number} wide @param {number} high @param {{ rows: number, cols: number }} grid
 * @param {Uint8ClampedArray | undefined} spare to be written over */
export function fineDetail(rgba, wide, high, { rows, cols }, spare = undefined) {
  const [bright, turned, fine] = ["bright", "turned", "fine"].map(name => reused(name, Float32Array, wide * high))
  const radius = Math.round(BLUR * Math.min(wide / cols, high / rows))
  for (let i = 0, j = 0; i < bright.length; i++, j += 4) bright[i] = LUMA[0] * rgba[j] + LUMA[1] * rgba[j + 1] + LUMA[2] * rgba[j + 2]
  fine.set(bright)
  for (let pass = 0; pass < 3; pass++) {
    boxBlur(fine, turned, wide, high, radius) // each turns it over
    boxBlur(turned, fine, high, wide, radius)
  }
  for (let i = 0; i < fine.length; i++) fine[i] = DETAIL * Math.tanh((bright[i] - fine[i]) / DETAIL)
  const starts = (size, count) => Array.from({ length: count + 1 }, (_, i) => Math.floor((i * size) / count))
  const [ys, xs] = [starts(high, rows), starts(wide, cols)]
  for (let r = 0; r < rows; r++) for (let c = 0; c < cols; c++) settlePatch(fine, wide, ys[r], ys[r + 1], xs[c], xs[c + 1])
  return dithered(fine, wide, high, spare)
}

/** Into `out` each value as the mean of a box along its row, of which the last pixel goes on at the rim; the picture is turned over there.
 * @param {Float32Array} values @param {Float32Array} out @param {number} wide @param {number} high @param {number} radius */
function boxBlur(values, out, wide, high, radius) {
  const share = 1 / (2 * radius + 1), row = new Float32Array(wide + 2 * radius + 1) // with its rims
  for (let y = 0; y < high; y++) {
    const at = y * wide
    row.fill(values[at], 0, radius).set(values.subarray(at, at + wide), radius)
    row.fill(values[at + wide - 1], radius + wide)
    let sum = 0
    for (let x = 0; x < 2 * radius + 1; x++) sum += row[x]
    for (let x = 0, o = y; x < wide; x++, o += high) {
      out[o] = sum * share
      sum += row[x + 2 * radius + 1] - row[x]
    }
  }
}

/** A patch's own mean is taken off; what is still too far from it is scaled. */
function settlePatch(fine, wide, y0, y1, x0, x1) {
  let sum = 0, most = DETAIL
  for (let y = y0; y < y1; y++) for (let x = x0; x < x1; x++) sum += fine[y * wide + x]
  const mean = sum / ((y1 - y0) * (x1 - x0))
  for (let y = y0; y < y1; y++) for (let x = x0; x < x1; x++) most = Math.max(most, Math.abs((fine[y * wide + x] -= mean)))
  if (most > DETAIL) for (let y = y0; y < y1; y++) for (let x = x0; x < x1; x++) fine[y * wide + x] *= DETAIL / most
}

/** Whole numbers, of which each hands on along its row what rounding cut off. */
function dithered(fine, wide, high, spare) {
  const out = fitting(spare, Uint8ClampedArray, 4 * fine.length)
  for (let y = 0; y < high; y++) {
    let sum = (y * GOLDEN_RATIO) % 1, before = 0
    for (let x = 0; x < wide; x++) {
      const i = y * wide + x, whole = Math.floor((sum += fine[i]))
      const grey = DETAIL + Math.max(-DETAIL, Math.min(DETAIL, whole - before))
      before = whole
      out[4 * i] = out[4 * i + 1] = out[4 * i + 2] = grey
      out[4 * i + 3] = 255
    }
  }
  return out
}
