// The reading part of the page Tokens: cosines of tokens out of signed bytes, matches, and what each patch is coloured with.

/** @typedef {{ codes: Int8Array, scales: Float32Array, width: number }} UnitTokens Tokens of a photo at a layer, N × width. */
/** @typedef {{ best: number, cosine: number, next: number, nextCosine: number, mutual: boolean }} Match */

/** Tokens that Python sent, each with what makes its length 1.
 * @param {Int8Array} codes @param {number} count @returns {UnitTokens} */
export function unitTokens(codes, count) {
  const width = codes.length / count
  const scales = Float32Array.from({ length: count }, (_, token) => {
    let sum = 0
    for (let i = token * width; i < (token + 1) * width; i++) sum += codes[i] * codes[i]
    return sum ? 1 / Math.sqrt(sum) : 0
  })
  return { codes, scales, width }
}

/** Cosine of one token with each of some tokens, into `out`.
 * @param {UnitTokens} from @param {number} token @param {UnitTokens} tokens @param {Float32Array} out */
export function cosines(from, token, tokens, out) {
  const { width, codes, scales } = tokens, asked = from.codes.subarray(token * width, (token + 1) * width), own = from.scales[token]
  for (let other = 0, at = 0; other < out.length; other++) {
    let sum = 0, i = 0
    for (; i + 3 < width; i += 4, at += 4) { // four at once take half the time
      sum += asked[i] * codes[at] + asked[i + 1] * codes[at + 1] + asked[i + 2] * codes[at + 2] + asked[i + 3] * codes[at + 3]
    }
    for (; i < width; i++, at++) sum += asked[i] * codes[at]
    out[other] = sum * own * scales[other]
  }
  return out
}

/** The ends of the scale of a similarity map: its median, below which all is dark, and its largest. `out`: patches that are left out.
 * @param {Float32Array} values @param {number[]} out @returns {[number, number]} */
export function ends(values, out) {
  const sorted = values.filter((_, patch) => !out.includes(patch)).sort()
  if (!sorted.length) return [0, 1]
  return [sorted[Math.floor(sorted.length / 2)], sorted[sorted.length - 1]]
}

/** A similarity map as colours: from `low` to `high`, what is left out at the lowest.
 * @param {{ pixels: Uint32Array, ctx: any, image: any }} small @param {Float32Array} values @param {[number, number]} ends
 * @param {number[]} out @param {Uint32Array} colours */
export function shade(small, values, [low, high], out, colours) {
  const times = high > low ? 255 / (high - low) : 0
  for (let i = 0; i < values.length; i++) small.pixels[i] = colours[Math.max(0, Math.min(255, Math.round((values[i] - low) * times)))]
  for (const patch of out) small.pixels[patch] = colours[0]
  small.ctx.putImageData(small.image, 0, 0)
}

/** The match of a patch of `photo` in the other at a layer.
 * @param {Float32Array} all 2 × L × 5 × N @param {number} layers @param {number} count @param {number} photo @param {number} layer @param {number} patch
 * @returns {Match} */
export function matchOf(all, layers, count, photo, layer, patch) {
  const row = i => all[((photo * layers + layer) * 5 + i) * count + patch]
  return { best: row(0), cosine: row(1), next: row(2), nextCosine: row(3), mutual: row(4) > 0 }
}

/** Patches of the first photo and of the second that are each other's best match at a layer.
 * @param {Float32Array} all @param {number} layers @param {number} count @param {number} layer @returns {[number, number][]} */
export function mutualMatches(all, layers, count, layer) {
  const found = []
  for (let patch = 0; patch < count; patch++) {
    const { best, mutual } = matchOf(all, layers, count, 0, layer, patch)
    if (mutual) found.push([patch, best])
  }
  return found
}

const rgba = (r, g, b, a) => ((a << 24) | (b << 16) | (g << 8) | r) >>> 0
const LEFT_OUT = rgba(40, 40, 40, 255), DIMMED = rgba(0, 0, 0, 205), CLEAR = 0

/** What each patch of a photo at a layer is coloured with; whether the photo's detail is added (else the photo shows through).
 * @param {string} view @param {any} files what came from Python: colours, first, segments
 * @param {{ layer: number, photo: number, count: number, threshold: number, out: number[], share: number, segmentColours: number[][], cut: boolean }} how
 * @param {Uint32Array} pixels */
export function viewColours(view, files, how, pixels) {
  const { count, out, share } = how, from = (how.layer * 2 + how.photo) * count
  for (let patch = 0; patch < count; patch++) {
    const at = from + patch
    if (view === "colours") {
      const [r, g, b] = files.colours.subarray(3 * at, 3 * at + 3)
      pixels[patch] = rgba(Math.round(share * r), Math.round(share * g), Math.round(share * b), 255)
    } else if (view === "foreground") pixels[patch] = files.first[at] > how.threshold ? CLEAR : DIMMED
    else if (how.cut) pixels[patch] = files.segments[at] === 1 ? CLEAR : DIMMED
    else {
      const [r, g, b] = how.segmentColours[Math.max(0, files.segments[at])]
      pixels[patch] = rgba(Math.round(share * r), Math.round(share * g), Math.round(share * b), 255)
    }
  }
  const detailed = view === "colours" || (view === "segments" && !how.cut)
  for (const patch of out) pixels[patch] = detailed ? LEFT_OUT : DIMMED
  return detailed
}
