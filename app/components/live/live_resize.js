// A frame cut and made smaller as Pillow and torchvision do it, to the bit; a canvas rounds otherwise, and logits move by 2 to 3.
//
// Pillow's `resize` (src/libImaging/Resample.c): across, then down, each pass with weights of 22 bits and rounded to bytes.
// Only what the centre crop keeps is computed.

import { reused } from "./live_arrays.js"

const BITS = 22, KEPT_TAPS = 16

/** @typedef {{ short: number, high: number, wide: number, filter: "bicubic" | "bilinear" }} Cut the shorter side after resizing, and the crop's height and width, in px */
/** @typedef {{ begin: Int32Array, size: Int32Array, weights: Int32Array, most: number }} Taps of each pixel: where its sources begin, how many, their weights */

/** Keys' cubic kernel with a = −0.5.
 * @param {number} x */
function cubic(x) {
  const a = -0.5, far = Math.abs(x)
  if (far < 1) return ((a + 2) * far - (a + 3)) * far * far + 1
  return far < 2 ? (((far - 5) * far + 8) * far - 4) * a : 0
}

// Filters by name: how far each reaches, in source pixels, and its weight at a distance
const FILTERS = { bicubic: { reach: 2, weight: cubic }, bilinear: { reach: 1, weight: x => Math.max(0, 1 - Math.abs(x)) } }

/** Of `count` pixels from the `first` on, of a side of `from` px that becomes `to`.
 * @param {number} from @param {number} to @param {number} first @param {number} count @param {"bicubic" | "bilinear"} filter @returns {Taps} */
function tapsOf(from, to, first, count, filter) {
  const { reach, weight } = FILTERS[filter]
  const scale = from / to, stretch = Math.max(scale, 1), support = reach * stretch, most = Math.ceil(support) * 2 + 1
  const begin = new Int32Array(count), size = new Int32Array(count), weights = new Int32Array(count * most)
  for (let i = 0; i < count; i++) {
    const centre = (first + i + 0.5) * scale
    const low = Math.max(0, Math.trunc(centre - support + 0.5)), high = Math.min(from, Math.trunc(centre + support + 0.5))
    const raw = Array.from({ length: high - low }, (_, x) => weight((x + low - centre + 0.5) * (1 / stretch)))
    const sum = raw.reduce((a, b) => a + b, 0)
    begin[i] = low
    size[i] = high - low
    raw.forEach((value, k) => {
      const share = sum ? value / sum : value
      weights[i * most + k] = Math.trunc(share * (1 << BITS) + (share < 0 ? -0.5 : 0.5))
    })
  }
  return { begin, size, weights, most }
}

const taps = new Map()
/** @param {Parameters<typeof tapsOf>} asked @returns {Taps} */
function kept(...asked) {
  const key = asked.join()
  if (!taps.has(key)) {
    if (taps.size >= KEPT_TAPS) taps.clear()
    taps.set(key, tapsOf(...asked))
  }
  return taps.get(key)
}

/** Rounded as Python does: a half to the even neighbour.
 * @param {number} n */
export function rounded(n) {
  const low = Math.floor(n)
  return n - low === 0.5 ? low + (low % 2) : Math.round(n)
}

/** Size after resizing, and where the crop begins in it, as torchvision's Resize and CenterCrop have them.
 * @param {number} width @param {number} height @param {Cut} cut */
export function cutOf(width, height, { short, high, wide }) {
  const [w, h] = width <= height ? [short, Math.trunc((short * height) / width)] : [Math.trunc((short * width) / height), short]
  return { w, h, left: rounded((w - wide) / 2), top: rounded((h - high) / 2) }
}

/** The part of a picture that the crop keeps, in its own px: x, y, width, height.
 * @param {number} width @param {number} height @param {Cut} cut @returns {[number, number, number, number]} */
export function boxOfCut(width, height, cut) {
  const scale = cut.short / Math.min(width, height), wide = Math.min(width, cut.wide / scale), high = Math.min(height, cut.high / scale)
  return [(width - wide) / 2, (height - high) / 2, wide, high]
}

/** RGB bytes of the crop, high × wide × 3.
 * @param {Uint8ClampedArray} rgba of the picture, as a canvas gives them @param {number} width @param {number} height @param {Cut} cut */
export function resizeAndCrop(rgba, width, height, cut) {
  const { high, wide, filter } = cut, { w, h, left, top } = cutOf(width, height, cut)
  const across = kept(width, w, left, wide, filter), down = kept(height, h, top, high, filter)
  const y0 = down.begin[0], y1 = down.begin[high - 1] + down.size[high - 1]
  const middle = reused("middle", Uint8ClampedArray, (y1 - y0) * wide * 3), half = 1 << (BITS - 1)
  const out = new Uint8ClampedArray(high * wide * 3)
  for (let y = y0; y < y1; y++) {
    for (let x = 0; x < wide; x++) {
      let [r, g, b] = [half, half, half]
      for (let k = 0, o = x * across.most, p = (y * width + across.begin[x]) * 4; k < across.size[x]; k++, p += 4) {
        const v = across.weights[o + k]
        r += rgba[p] * v
        g += rgba[p + 1] * v
        b += rgba[p + 2] * v
      }
      const q = ((y - y0) * wide + x) * 3
      middle[q] = r >> BITS
      middle[q + 1] = g >> BITS
      middle[q + 2] = b >> BITS
    }
  }
  const row = wide * 3
  for (let y = 0; y < high; y++) {
    for (let x = 0; x < row; x++) {
      let sum = half
      for (let k = 0, o = y * down.most, p = (down.begin[y] - y0) * row + x; k < down.size[y]; k++, p += row) sum += middle[p] * down.weights[o + k]
      out[y * row + x] = sum >> BITS
    }
  }
  return out
}
