// The explorer's reading part: attention as bytes, fetched once by address, and one token's weights out of it.

import { LEAST_TOP } from "../heat_overlay.js"

/** @typedef {{ prefix: number, rows: number, cols: number }} Grid Tokens before the patches, and the patches. */
/** @typedef {{ bytes: Uint8Array, tokens: number, all?: boolean, nearest?: Int16Array, queries?: number[], count?: number }} AttentionMap */

export const KEPT = 48 // blocks the browser remembers

/** What each of the 256 bytes stands for: 0, and `span` powers of two up to 1.
 * @param {number} span */
export function decodeTable(span) {
  return Float32Array.from({ length: 256 }, (_, code) => (code ? 2 ** ((-span * (255 - code)) / 254) : 0))
}

// What `spec` names, or null while it is on its way; `done` is called when it has come.
export function fetched(s, spec, done) {
  const known = s.bytes.get(spec.url)
  if (known !== undefined) return known
  s.bytes.set(spec.url, null)
  // relative: media lies beside the page, whatever path the app is served below
  fetch(spec.url)
    .then(answer => (answer.ok ? answer.arrayBuffer() : Promise.reject(new Error(answer.statusText))))
    .then(buffer => {
      s.bytes.set(spec.url, reader(new Uint8Array(buffer), spec, s.data.grid))
      for (const url of s.bytes.keys()) {
        if (s.bytes.size <= KEPT) break
        s.bytes.delete(url)
      }
      done()
    })
    .catch(() => s.bytes.delete(spec.url)) // asked for again by the next touch
  return null
}

/** `queries`: the tokens whose rows (or, with `column`, columns) were sent; null where all were.
 * @param {Uint8Array} bytes @param {{ queries: number[] | null }} spec @param {Grid} grid @returns {AttentionMap} */
export function reader(bytes, spec, grid) {
  const tokens = grid.prefix + grid.rows * grid.cols
  if (!spec.queries) return { bytes, tokens, all: true }
  const nearest = Int16Array.from({ length: tokens }, (_, token) => nearestOf(token, spec.queries, grid))
  return { bytes, tokens, nearest, queries: spec.queries, count: spec.queries.length }
}

/** @param {number} token @param {number[]} queries @param {Grid} grid */
function nearestOf(token, queries, grid) {
  const exact = queries.indexOf(token)
  if (exact >= 0 || token < grid.prefix) return Math.max(exact, 0)
  const [row, col] = place(token, grid)
  let best = 0, least = Infinity
  queries.forEach((query, i) => {
    if (query < grid.prefix) return
    const [r, c] = place(query, grid)
    const far = (r - row) ** 2 + (c - col) ** 2
    if (far < least) [best, least] = [i, far]
  })
  return best
}

/** @param {number} token @param {Grid} grid */
export const place = (token, grid) => [Math.floor((token - grid.prefix) / grid.cols), (token - grid.prefix) % grid.cols]

/** The token that answers for this one: itself, or where only some were sent the nearest of them.
 * @param {AttentionMap} map @param {number} token */
export const answering = (map, token) => (map.all ? token : map.queries[map.nearest[token]])

/** The map with the rows of the tokens that are pinned as Python has them, not rounded to a byte; itself where there are none.
 * @param {any} s @param {any} map @param {any} spec @param {number | null} block @param {() => void} done */
export function exactly(s, map, spec, block, done) {
  const found = map && spec && spec.block === block ? fetched(s, spec, done) : null
  return found ? { ...map, exact: { ...spec, rows: new Float32Array(found.bytes.buffer) } } : map
}

/** A pinned token's exact weights in a head, or null.
 * @param {any} map @param {number} head @param {number} token @param {boolean} column @returns {Float32Array | null} */
export function exactRow({ exact, tokens }, head, token, column) {
  const i = exact && exact.column === column ? exact.tokens.indexOf(token) : -1
  if (i < 0) return null
  const at = (i * (exact.rows.length / exact.tokens.length / tokens) + head) * tokens
  return exact.rows.subarray(at, at + tokens)
}

/** One head's weights from `token` to every token, or (column) from every token to it, into `out`.
 * @param {AttentionMap} map @param {number} head @param {number} token @param {boolean} column @param {Float32Array} table @param {Float32Array} out */
export function read(map, head, token, column, table, out) {
  const { bytes, tokens } = map, exact = exactRow(map, head, token, column)
  if (exact) out.set(exact)
  else if (map.all && column) {
    for (let i = 0, at = head * tokens * tokens + token; i < tokens; i++, at += tokens) out[i] = table[bytes[at]]
  } else {
    const at = (map.all ? head * tokens + token : head * map.count + map.nearest[token]) * tokens
    for (let i = 0; i < tokens; i++) out[i] = table[bytes[at + i]]
  }
  return out
}

/** Of a token's weights, a row a head, those of one head, or the mean of all.
 * @param {Float32Array[]} rows @param {number | null} head @param {Float32Array} out */
export function chosen(rows, head, out) {
  if (head !== null) out.set(rows[head])
  else {
    out.fill(0)
    for (const row of rows) for (let i = 0; i < row.length; i++) out[i] += row[i] / rows.length
  }
  return out
}

/** @param {Float32Array} values @param {number} from */
export function largest(values, from) {
  let at = from
  for (let i = from; i < values.length; i++) if (values[i] > values[at]) at = i
  return at
}

/** Outlier tokens (patches) that hold much of a map: more than an even share, and at most one in so many of the others has as
 * much (`analysis.outlier_tokens.outliers_in_map`).
 * @param {Float32Array} values @param {number} from @param {{ patches: number[], one_in: number }} outliers */
export function standingOut(values, from, { patches, one_in: oneIn }) {
  if (!patches.length) return []
  const others = values.length - from - patches.length
  let sum = 0
  for (let i = from; i < values.length; i++) sum += values[i]
  return patches.filter(patch => {
    const mine = values[from + patch]
    if (!(mine * (values.length - from) > sum)) return false
    let asMuch = 0
    for (let i = from; i < values.length; i++) if (values[i] >= mine && !patches.includes(i - from)) asMuch++
    return asMuch * oneIn <= others
  })
}

// Colours 0…255 as the browser keeps pixels: of small maps, of the photo's bar, on the photo before its detail is added, and
// black that lets through what is attended to.
export function palettes(texts) {
  const of = text => {
    const rgb = Uint8Array.from(atob(text), c => c.charCodeAt(0))
    return Uint32Array.from({ length: 256 }, (_, i) => pixel(rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2], 255))
  }
  const light = Uint32Array.from({ length: 256 }, (_, i) => pixel(0, 0, 0, 222 - Math.round(i * 222 / 255)))
  return { ...Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, of(text)])), light }
}

const pixel = (r, g, b, a) => ((a << 24) | (b << 16) | (g << 8) | r) >>> 0

// A palette on the canvas of a colour bar, 256 × 1.
export function drawBar(canvas, colours) {
  const ctx = canvas.getContext("2d"), image = ctx.createImageData(256, 1)
  new Uint32Array(image.data.buffer).set(colours)
  ctx.putImageData(image, 0, 0)
}

// Pixels of a map, one a patch, off the page.
export function smallMap(rows, cols) {
  const canvas = Object.assign(document.createElement("canvas"), { width: cols, height: rows })
  const ctx = canvas.getContext("2d")
  const image = ctx.createImageData(cols, rows)
  return { canvas, ctx, image, pixels: new Uint32Array(image.data.buffer) }
}

export const DECADES = 3 // of the logarithmic scale

/** Weights of the patches as a small map, coloured from 0 (or a thousandth) to `top`.
 * @param {{ pixels: Uint32Array, ctx: any, image: any }} small
 * @param {Float32Array} values @param {number} from @param {number} top @param {boolean} log @param {Uint32Array} colours */
export function fill(small, values, from, top, log, colours) {
  const { pixels } = small
  const times = top > 0 ? 255 / top : 0
  for (let i = 0; i < pixels.length; i++) {
    const value = values[from + i] * times
    const code = log ? (value > 0 ? 255 * (1 + Math.log10(value / 255) / DECADES) : 0) : value
    pixels[i] = colours[code < 0 ? 0 : code > 255 ? 255 : (code + 0.5) | 0]
  }
  small.ctx.putImageData(small.image, 0, 0)
}

// An even share of what a token gives, and what a colour scale reaches at least: a nearly even map is nearly flat.
export const even = ({ data: { grid } }) => 1 / (grid.prefix + grid.rows * grid.cols)
export const least = s => LEAST_TOP * even(s)

const CARDS_SHARE = 0.52 // of a screen's height, below the title of the cards and above what stands at its foot
const LEAST_CARD_PX = 56, NAME_PX = 36 // how wide a head's card is at least; how much of its height is no map

/** How many cards stand beside each other, so that all heads are seen: the fewest whose rows are no higher than their room.
 * @param {number} heads @param {number} wide of all cards, in px @param {number} screen its height in px @param {number} ratio of a card's maps */
export function headColumns(heads, wide, screen, ratio) {
  const most = Math.max(1, Math.min(heads, Math.floor(wide / LEAST_CARD_PX)))
  const high = columns => Math.ceil(heads / columns) * (wide / columns / ratio + NAME_PX)
  for (let columns = 1; columns < most; columns++) if (high(columns) <= CARDS_SHARE * screen) return columns
  return most
}
