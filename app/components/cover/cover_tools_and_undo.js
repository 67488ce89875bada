// Covering's parts that need no browser: sets of patches as text, what each tool covers, and undo.

/** @typedef {{ rows: number, cols: number }} Patches rows and columns of patches */
/** @typedef {{ past: string[], future: string[] }} History sets before this one, the last at the end, and after it, the next at the end */

const DEEP = 200 // steps that can be undone

/** A set of patches as text: empty for none (`covered_photos.encode_patches`).
 * @param {Uint8Array} mask @param {Patches} grid */
export function encodePatches(mask, { rows, cols }) {
  const bytes = new Uint8Array(Math.ceil(mask.length / 8))
  mask.forEach((on, i) => { if (on) bytes[i >> 3] |= 128 >> (i & 7) })
  if (!bytes.some(byte => byte)) return ""
  return `${rows}x${cols}-` + btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")
}

/** The set that a text of this grid means; none for any other.
 * @param {string} code @param {Patches} grid */
export function decodePatches(code, { rows, cols }) {
  const mask = new Uint8Array(rows * cols), [size, bits] = code.split(/-(.*)/s)
  if (size !== `${rows}x${cols}` || !bits) return mask
  const bytes = atob(bits.replaceAll("-", "+").replaceAll("_", "/"))
  for (let i = 0; i < mask.length; i++) mask[i] = (bytes.charCodeAt(i >> 3) >> (7 - (i & 7))) & 1
  return mask
}

/** Patches below a brush of so many patches across, whose middle goes from one patch to another in a straight line.
 * @param {number} from @param {number} to @param {number} size @param {Patches} grid */
export function strokePatches(from, to, size, { rows, cols }) {
  const [r0, c0, r1, c1] = [Math.floor(from / cols), from % cols, Math.floor(to / cols), to % cols]
  const steps = Math.max(Math.abs(r1 - r0), Math.abs(c1 - c0), 1), found = new Set()
  for (let i = 0; i <= steps; i++) {
    const [row, col] = [Math.round(r0 + ((r1 - r0) * i) / steps), Math.round(c0 + ((c1 - c0) * i) / steps)]
    const before = (size - 1) >> 1, after = size >> 1
    for (let r = Math.max(0, row - before); r <= Math.min(rows - 1, row + after); r++)
      for (let c = Math.max(0, col - before); c <= Math.min(cols - 1, col + after); c++) found.add(r * cols + c)
  }
  return [...found]
}

/** @param {number} from one corner @param {number} to the corner across @param {Patches} grid */
export function rectanglePatches(from, to, { cols }) {
  const [top, bottom] = [Math.floor(from / cols), Math.floor(to / cols)].sort((a, b) => a - b)
  const [left, right] = [from % cols, to % cols].sort((a, b) => a - b)
  const found = []
  for (let r = top; r <= bottom; r++) for (let c = left; c <= right; c++) found.push(r * cols + c)
  return found
}

/** The patches that hang together with this one, side by side, among a map's strongest `share`; none where it is not among them.
 * @param {ArrayLike<number>} values @param {number} patch @param {number} share @param {Patches} grid */
export function objectPatches(values, patch, share, { rows, cols }) {
  const sorted = Float64Array.from(values).sort(), count = Math.max(1, Math.round(share * sorted.length))
  const limit = sorted[sorted.length - count]
  if (!(values[patch] >= limit)) return []
  const found = new Set([patch]), ahead = [patch]
  for (let at = ahead.pop(); at !== undefined; at = ahead.pop()) {
    const [r, c] = [Math.floor(at / cols), at % cols]
    for (const [row, col] of [[r - 1, c], [r + 1, c], [r, c - 1], [r, c + 1]]) {
      const next = row * cols + col
      if (row < 0 || col < 0 || row >= rows || col >= cols || found.has(next) || !(values[next] >= limit)) continue
      found.add(next)
      ahead.push(next)
    }
  }
  return [...found]
}

/** Of each covered patch the nearest that is not, the first in reading order of several; itself where none is left.
 * @param {Uint8Array} mask @param {Patches & { step: number[] }} grid */
export function nearestKept(mask, { cols, step: [high, wide] }) {
  const kept = [...mask.keys()].filter(i => !mask[i])
  return Array.from(mask, (on, patch) => {
    let best = patch, least = Infinity
    if (on) for (const other of kept) {
      const far = (((other % cols) - (patch % cols)) * wide) ** 2 + ((Math.floor(other / cols) - Math.floor(patch / cols)) * high) ** 2
      if (far < least) [best, least] = [other, far]
    }
    return best
  })
}

/** After a set has been changed to another: what can be undone, and nothing to be done again.
 * @param {History} history @param {string} before @returns {History} */
export const changed = ({ past }, before) => ({ past: [...past, before].slice(-DEEP), future: [] })

/** The set before this one (or, with `forward`, after it) and the history then; null where there is none.
 * @param {History} history @param {string} now @param {boolean} forward @returns {{ code: string, history: History } | null} */
export function stepBack({ past, future }, now, forward) {
  const [from, to] = forward ? [future, past] : [past, future]
  if (!from.length) return null
  const rest = from.slice(0, -1), kept = [...to, now]
  return { code: from[from.length - 1], history: forward ? { past: kept, future: rest } : { past: rest, future: kept } }
}

/** @param {string} text of 32-bit floats, base64 */
export const floats = text => new Float32Array(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer)
