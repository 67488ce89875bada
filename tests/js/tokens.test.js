// The page Tokens without a browser: cosines out of signed bytes, the scale of a map, matches, what a patch is coloured with.

import assert from "node:assert/strict"
import { test } from "node:test"
import { cosines, ends, matchOf, mutualMatches, shade, unitTokens, viewColours } from "../../app/components/tokens/tokens_similarity.js"

const near = (found, expected) => found.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) < 1e-6, `${[...found]} is not ${expected}`))

test("cosines, whatever the scale of each token; of nothing 0", () => {
  const one = unitTokens(Int8Array.from([3, 4, 0, 0, 127, 0]), 3), other = unitTokens(Int8Array.from([4, 3, -30, -40, 0, 7]), 3)
  near(cosines(one, 0, other, new Float32Array(3)), [24 / 25, -1, 0.8])
  near(cosines(one, 0, one, new Float32Array(3)), [1, 0, 0.6])
  near(cosines(one, 1, other, new Float32Array(3)), [0, 0, 0])
})

test("the scale of a map goes from its median to its largest, without what is left out", () => {
  near(ends(Float32Array.from([0.5, -0.25, 1, 0.25]), [2]), [0.25, 0.5])
  assert.deepEqual(ends(Float32Array.from([0.5]), [0]), [0, 1])
})

const small = count => ({ pixels: new Uint32Array(count), ctx: { putImageData() {} }, image: null })
const COLOURS = Uint32Array.from({ length: 256 }, (_, i) => i)

test("below the scale all is as dark, at its end as bright; what is left out is dark; an even map too", () => {
  const map = small(4)
  shade(map, Float32Array.from([-1, 0.5, 1, 1]), [0, 1], [3], COLOURS)
  assert.deepEqual([...map.pixels], [0, 128, 255, 0])
  shade(map, Float32Array.from([1, 1, 1, 1]), [1, 1], [], COLOURS)
  assert.deepEqual([...map.pixels], [0, 0, 0, 0])
})

test("a match: of this photo, this layer, this patch", () => {
  const [layers, count] = [2, 3], all = Float32Array.from({ length: 2 * layers * 5 * count }, (_, i) => i)
  assert.deepEqual(matchOf(all, layers, count, 1, 1, 2), { best: 47, cosine: 50, next: 53, nextCosine: 56, mutual: true })
  const mutual = new Float32Array(2 * layers * 5 * count)
  mutual.set([2, 0, 1, /* cosines and runner-up */ 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1], 5 * count)
  assert.deepEqual(mutualMatches(mutual, layers, count, 1), [[0, 2], [2, 1]])
  assert.equal(matchOf(new Float32Array(60), layers, count, 0, 0, 0).mutual, false)
})

const grey = level => (255 << 24 | level << 16 | level << 8 | level) >>> 0
const HOW = { layer: 0, photo: 1, count: 2, threshold: 0.5, out: [], share: 0.5, segmentColours: [[0, 0, 0], [100, 100, 100]], cut: false }
const FILES = { // photo 1 is the second half
  colours: Uint8Array.from([0, 0, 0, 0, 0, 0, 200, 200, 200, 100, 100, 100]), first: Float32Array.from([9, 9, 0.5, 0.6]), segments: Int8Array.from([0, 0, 1, 0]),
}
const VIEWS = [
  { view: "colours", how: {}, detailed: true, is: [grey(100), grey(50)] },
  { view: "colours", how: { out: [0] }, detailed: true, is: [grey(40), grey(50)] },
  { view: "foreground", how: {}, detailed: false, is: [(205 << 24) >>> 0, 0] },
  { view: "foreground", how: { threshold: -3, out: [1] }, detailed: false, is: [0, (205 << 24) >>> 0] },
  { view: "segments", how: {}, detailed: true, is: [grey(50), grey(0)] },
  { view: "segments", how: { cut: true }, detailed: false, is: [0, (205 << 24) >>> 0] },
]
for (const { view, how, detailed, is } of VIEWS)
  test(`${view} with ${JSON.stringify(how)}`, () => {
    const pixels = new Uint32Array(2)
    assert.equal(viewColours(view, FILES, { ...HOW, ...how }, pixels), detailed)
    assert.deepEqual([...pixels], is)
  })
