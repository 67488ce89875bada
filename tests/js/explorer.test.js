// The explorer's reading and wording parts: attention out of bytes, colours of a map, a head in words.

import assert from "node:assert/strict"
import { test } from "node:test"

globalThis.matchMedia = () => ({ matches: true })
const COMPONENTS = "../../app/components"
const reading = await import(`${COMPONENTS}/explorer/explorer_attention_bytes.js`)
const wording = await import(`${COMPONENTS}/explorer/explorer_sentences.js`)

const GRID = { prefix: 1, rows: 2, cols: 3 } // 7 tokens
const TOKENS = 7
const HALVES = reading.decodeTable(254) // each byte is half of the next: 2 ** (code − 255)

/** Bytes of `heads` maps in which what `query` gives to `key` is 1 / 2 ** (query + key + head). */
function maps(heads, queries) {
  const rows = queries ?? [...Array(TOKENS).keys()]
  const bytes = Array.from({ length: heads }, (_, head) => rows.map(query => [...Array(TOKENS).keys()].map(key => 255 - query - key - head)))
  return Uint8Array.from(bytes.flat(2))
}

test("a byte is a power of two, 0 is none, 255 is all", () => {
  const table = reading.decodeTable(16)
  assert.deepEqual([table[0], table[255], table.length], [0, 1, 256])
  assert.ok(Math.abs(table[128] - 2 ** -8) < 1e-9, "half of the span")
  assert.ok(table.every((value, code) => code === 0 || value > table[code - 1]))
})

test("the cards of many heads stand in as few columns as it takes to see all rows", () => {
  assert.equal(reading.headColumns(12, 890, 1080, 1), 6, "a projector: two rows of six")
  assert.equal(reading.headColumns(12, 400, 720, 1), 5, "a laptop")
  assert.equal(reading.headColumns(12, 890, 1080, 2), 4, "two maps side by side are half as high")
  for (const heads of [5, 12, 16]) {
    const columns = reading.headColumns(heads, 440, 900, 1)
    assert.ok(Math.ceil(heads / columns) * (440 / columns + 36) <= 0.52 * 900, `${heads} heads are seen`)
  }
  assert.equal(reading.headColumns(24, 100, 300, 1), 1, "none is narrower than it can be read")
})

test("a token's weights are a row of a map, and what it gets a column", () => {
  const map = reading.reader(maps(2), { queries: null }, GRID)
  const weights = (head, token, column) => [...reading.read(map, head, token, column, HALVES, new Float32Array(TOKENS))]
  assert.deepEqual(weights(0, 2, false), [2, 3, 4, 5, 6, 7, 8].map(n => 2 ** -n))
  assert.deepEqual(weights(1, 2, false), [3, 4, 5, 6, 7, 8, 9].map(n => 2 ** -n))
  assert.deepEqual(weights(0, 2, true), weights(0, 2, false), "this map is symmetric")
  map.bytes[TOKENS * 4 + 2] = 0 // what token 4 gives to token 2
  assert.deepEqual([weights(0, 2, true)[4], weights(0, 4, false)[2], weights(0, 2, false)[4]], [0, 0, 2 ** -6])
})

test("where only some tokens were sent, the nearest patch answers, and no prefix for a patch", () => {
  const queries = [0, 1, 6] // the class token, the first patch, the last
  const map = reading.reader(maps(2, queries), { queries }, GRID)
  assert.deepEqual([...Array(TOKENS).keys()].map(token => reading.answering(map, token)), [0, 1, 1, 6, 1, 6, 6])
  assert.equal(reading.answering(reading.reader(maps(1), { queries: null }, GRID), 4), 4)
  assert.deepEqual([...reading.read(map, 1, 5, true, HALVES, new Float32Array(TOKENS))], [7, 8, 9, 10, 11, 12, 13].map(n => 2 ** -n))
})

test("a place of a token is its patch's row and column", () => {
  assert.deepEqual([1, 3, 4, 6].map(token => reading.place(token, GRID)), [[0, 0], [0, 2], [1, 0], [1, 2]])
})

test("the mean of all heads, or one of them", () => {
  const rows = [[1, 2, 4], [3, 0, 8]].map(row => Float32Array.from(row))
  assert.deepEqual([...reading.chosen(rows, null, new Float32Array([9, 9, 9]))], [2, 1, 6])
  assert.deepEqual([...reading.chosen(rows, 1, new Float32Array(3))], [3, 0, 8])
  assert.equal(reading.largest(rows[1], 0), 2)
  assert.equal(reading.largest(Float32Array.from([9, 1, 3, 3]), 1), 2, "the first of the largest patches, no prefix")
})

test("an outlier stands out with more than an even share, and few others as high", () => {
  const out = (values, patches, oneIn = 4) => reading.standingOut(Float32Array.from(values), 1, { patches, one_in: oneIn })
  assert.deepEqual(out([0, 1, 1, 1, 1, 1, 20], []), [], "none is known")
  assert.deepEqual(out([0, 1, 1, 1, 1, 1, 20], [5]), [5])
  assert.deepEqual(out([90, 1, 1, 1, 1, 1, 1], [5]), [], "it has an even share, whatever the class token has")
  assert.deepEqual(out([0, 1, 1, 1, 1, 30, 20], [5], 5), [5], "one of five others has more: one in five")
  assert.deepEqual(out([0, 1, 1, 1, 30, 30, 20], [5]), [], "two of five are too many")
})

test("what was fetched is read once, and the oldest is forgotten", async () => {
  const asked = []
  globalThis.fetch = async url => {
    asked.push(url)
    return { ok: url !== "broken", statusText: "not there", arrayBuffer: async () => maps(1).buffer }
  }
  const s = { bytes: new Map(), data: { grid: GRID } }
  const get = url => new Promise(done => reading.fetched(s, { url, queries: null }, done))
  assert.equal(reading.fetched(s, { url: "a", queries: null }, () => {}), null)
  await get("b")
  assert.equal(reading.fetched(s, { url: "b", queries: null }, () => {}).tokens, TOKENS)
  assert.deepEqual(asked, ["a", "b"])
  for (let i = 0; i < reading.KEPT; i++) await get(`more ${i}`)
  assert.deepEqual([s.bytes.size, s.bytes.has("a"), s.bytes.has("b")], [reading.KEPT, false, false])
  reading.fetched(s, { url: "broken", queries: null }, () => assert.fail("it has not come"))
  await new Promise(done => setTimeout(done))
  assert.equal(s.bytes.has("broken"), false, "it is asked for again")
})

test("colours are pixels as a browser keeps them", () => {
  const greys = btoa(String.fromCharCode(...[...Array(256).keys()].flatMap(i => [i, 0, 255])))
  const { solid, light } = reading.palettes({ solid: greys, bar: greys, heat: greys })
  assert.deepEqual([...new Uint8Array(solid.buffer).slice(4 * 7, 4 * 8)], [7, 0, 255, 255])
  assert.deepEqual([0, 255].map(i => [...new Uint8Array(light.buffer).slice(4 * i, 4 * i + 4)]), [[0, 0, 0, 222], [0, 0, 0, 0]])
})

const COLOURS = Uint32Array.from({ length: 256 }, (_, i) => i)
const SCALES = [
  { name: "linear", values: [0, 0.5, 1], top: 1, log: false, codes: [0, 128, 255] },
  { name: "beyond the top", values: [2, -1, 0.25], top: 0.5, log: false, codes: [255, 0, 128] },
  { name: "nothing at all", values: [0, 0, 0], top: 0, log: false, codes: [0, 0, 0] },
  { name: "logarithmic over three decades", values: [1, 0.1, 0.001], top: 1, log: true, codes: [255, 170, 0] },
  { name: "below the decades", values: [0, 1e-6, 0.01], top: 1, log: true, codes: [0, 0, 85] },
]
for (const { name, values, top, log, codes } of SCALES)
  test(`the colour of a value: ${name}`, () => {
    let put = 0
    const small = { pixels: new Uint32Array(3), image: {}, ctx: { putImageData: () => put++ } }
    reading.fill(small, Float32Array.from([9, ...values]), 1, top, log, COLOURS)
    assert.deepEqual([[...small.pixels], put], [codes, 1])
  })

const WORDS = {
  patch: "patch {patch} (row {row}, column {col})", "asks row": "{token} asks", "asks column": "who asks {token}",
  "rolled row": "{token} gathers", "rolled column": "who gathers {token}", "all layers": "all layers",
  "mean of heads": "mean of {heads} heads, layer {block}", "one head": "head {head}, layer {block}", pinned: "{token} (pinned)",
  value: "{from} → {to}: {weight} = {percent}, {times} even shares, {more}", "word local": "near", "word sink": "to {token}",
  facts: "{spread} of {tokens}", far: "{px} px", share: "{token}: {share}", measured: "{bits}/{most} bits, {part}, {reach}, {offset}",
  "outlier tokens": "outliers",
}

/** The explorer's state, with what a test changes. */
function state({ st = {}, data = {}, ...more } = {}) {
  const map = reading.reader(maps(2), { queries: null }, GRID)
  return {
    st: { token: 1, second: null, head: null, block: 4, column: false, rolled: false, ...st },
    data: { grid: GRID, heads: 2, words: WORDS, spoken: ["the class token"], ...data },
    map, table: HALVES, scratch: new Float32Array(TOKENS), bytes: new Map(), hover: null, peek: null, ...more,
  }
}

test("a token by name: the prefix as it is spoken, a patch with its place", () => {
  assert.deepEqual([0, 1, 6].map(token => wording.nameOf(state(), token)),
    ["the class token", "patch 0 (row 0, column 0)", "patch 5 (row 1, column 2)"])
})

const TITLES = [
  [{}, "x asks · mean of 2 heads, layer 4"], [{ column: true }, "who asks x · mean of 2 heads, layer 4"],
  [{ head: 0 }, "x asks · head 0, layer 4"], [{ rolled: true, head: 1 }, "x gathers · all layers"],
  [{ rolled: true, column: true }, "who gathers x · all layers"],
]
for (const [st, title] of TITLES) test(`the photo's title: ${title}`, () => assert.equal(wording.title(state({ st }), "x"), title))

const POINTED = [
  { what: "nothing", st: {}, more: {}, said: "" },
  { what: "mean of the heads", st: {}, more: { hover: 2 }, said: "patch 0 (row 0, column 0) (pinned) → patch 1 (row 0, column 1): 0.094 = 9.4\u00a0%, 0.66 even shares, mean of 2 heads, layer 4" },
  { what: "one head", st: { head: 1 }, more: { hover: 0 }, said: "patch 0 (row 0, column 0) (pinned) → the class token: 0.25 = 25\u00a0%, 1.8 even shares, head 1, layer 4" },
  { what: "a column", st: { head: 0, column: true }, more: { hover: 0 }, said: "the class token → patch 0 (row 0, column 0) (pinned): 0.5 = 50\u00a0%, 3.5 even shares, head 0, layer 4" },
  { what: "a head's small map", st: {}, more: { peek: { which: 0, head: 1, token: 0 }, shown: [3], values: [[null, [0.125]]] },
    said: "patch 2 (row 0, column 2) → the class token: 0.13 = 13\u00a0%, 0.88 even shares, head 1, layer 4" },
  { what: "a small map not drawn yet", st: {}, more: { peek: { which: 1, head: 1, token: 0 }, shown: [3], values: [] }, said: "" },
]
for (const { what, st, more, said } of POINTED)
  test(`the value under the pointer: ${what}`, () => assert.equal(wording.pointed(state({ st, ...more })), said))

test("the value under the pointer is rollout's while rollout is shown", () => {
  const rollout = reading.reader(maps(1), { queries: null }, GRID)
  const s = state({ st: { rolled: true, head: 1 }, rolled: rollout, hover: 0 })
  assert.match(wording.pointed(s), /: 0\.5 = 50\u00a0%, .*, all layers$/)
})

test("a head in words: its names, its numbers, the rules", () => {
  const data = { names: ["class"], rules: { local: ["near", "within 2"], sink: ["sink", "over half"] }, share_names: ["class"], most_bits: 8 }
  const head = { words: ["local", "sink"], sink: 0, spread: 12, px: 40, shares: [0.4], outlying: 3, bits: 2, reach: 7, offset: 1 }
  assert.deepEqual(wording.headline(state({ data }), head), {
    word: "near, to class", facts: "12 of 7\n40 px\nclass: < 1\u00a0%\noutliers: 3\u00a0%", rule: "near: within 2\nsink: over half\n2.0/8.0 bits, 25\u00a0%, 7\u00a0%, 1\u00a0%",
  })
  assert.equal(wording.headline(state({ data }), { ...head, outlying: null, shares: [0] }).facts, "12 of 7\n40 px\nclass: 0\u00a0%")
})

test("what is pinned is exact: its rows are as Python sent them, others as bytes say", () => {
  const rows = Float32Array.from([...Array(2 * TOKENS).keys()], n => 0.1 + n / 100) // of token 3 in two heads
  const found = { bytes: new Uint8Array(rows.buffer) }
  const spec = { url: "exact", block: 4, tokens: [3], column: false }
  const s = { bytes: new Map([["exact", found]]) }
  const coded = reading.reader(maps(2), { queries: null }, GRID)
  const map = reading.exactly(s, coded, spec, 4, () => {})
  const weights = (head, token, column) => [...reading.read(map, head, token, column, HALVES, new Float32Array(TOKENS))]
  assert.deepEqual(weights(1, 3, false), [...rows.subarray(TOKENS)])
  assert.deepEqual(weights(1, 2, false), [3, 4, 5, 6, 7, 8, 9].map(n => 2 ** -n), "another token")
  assert.deepEqual(weights(0, 3, true), [3, 4, 5, 6, 7, 8, 9].map(n => 2 ** -n), "the other direction")
  assert.equal(reading.exactly(s, coded, spec, 5, () => {}), coded, "another layer")
  assert.equal(reading.exactly(s, coded, null, 5, () => {}), coded, "nothing is pinned")
})
