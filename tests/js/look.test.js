// The Look page's parts that need no browser: what lies on the photo, its numbers, choices that wait for Python.

import assert from "node:assert/strict"
import { mock, test } from "node:test"
import { adoptChoices, choose, fresh } from "../../app/components/pending_choices.js"
import { lines, nearestDot, numbersOf, painted, signedRow, strongest } from "../../app/components/look/look_map_values.js"

const ST = { patch: null, layer: null, head: null }
const PAINTED = [
  { what: "nothing chosen: rollout", s: {}, is: { kind: "rollout", patch: null } },
  { what: "a pinned patch", s: { st: { ...ST, patch: 3 } }, is: { kind: "rollout", patch: 3 } },
  { what: "a patch pointed at before the pinned", s: { st: { ...ST, patch: 3 }, hover: 5 }, is: { kind: "rollout", patch: 5 } },
  { what: "a layer", s: { st: { ...ST, layer: 2 } }, is: { kind: "attention", layer: 2, head: null, patch: null } },
  { what: "a head pointed at, of the patch pointed at", s: { st: { ...ST, layer: 2 }, over: { layer: 4, head: 1 }, hover: 6 }, is: { kind: "attention", layer: 4, head: 1, patch: 6 } },
  { what: "a position pointed at", s: { st: { ...ST, layer: 2 }, over: { position: 7 } }, is: { kind: "position", patch: 7 } },
  { what: "rollout that plays", s: { st: { ...ST, layer: 2 }, step: 0 }, is: { kind: "step", layer: 0 } },
]
for (const { what, s, is } of PAINTED)
  test(`on the photo: ${what}`, () => assert.deepEqual(painted({ st: ST, hover: null, over: null, step: null, ...s }), is))

// Two patches after one token; codes stand for their halves.
const GRID = { prefix: 1, rows: 1, cols: 2 }, TABLE = Float32Array.from({ length: 256 }, (_, code) => code / 2)
const all = (...bytes) => ({ bytes: Uint8Array.from(bytes), tokens: 3, all: true })
function state(data, files) {
  return { data: { grid: GRID, blocks: 2, heads: 2, maps: [null, null], readouts: null, ...data }, table: TABLE, bytes: new Map(Object.entries(files)), again() {} }
}
const numbers = (s, what) => {
  const out = new Float32Array(3)
  return [numbersOf(s, what, out), ...out]
}
// head 0: rows (10 11 12) (13 14 15) (16 17 18); head 1: (20 …) (23 …) (26 …)
const HEADS = all(10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 21, 22, 23, 24, 25, 26, 27, 28)
const ATTENDING = state({ maps: [null, { url: "m", queries: null }] }, { m: HEADS })
const STEPS = new Uint8Array(Float32Array.from([1, 2, 3, 4]).buffer)
const READ = [
  { what: "one head of a patch", s: ATTENDING, of: { kind: "attention", layer: 1, head: 1, patch: 0 }, is: [true, 11.5, 12, 12.5] },
  { what: "the mean of heads of the class token", s: ATTENDING, of: { kind: "attention", layer: 1, head: null, patch: null }, is: [true, 7.5, 8, 8.5] },
  { what: "a layer that has not come", s: ATTENDING, of: { kind: "attention", layer: 0, head: null, patch: null }, is: [false, 0, 0, 0] },
  { what: "where the answer is read from all patches", s: state({ readouts: [{ url: "r" }] }, { r: { bytes: Uint8Array.from([2, 4, 6, 8, 10, 12]) } }),
    of: { kind: "attention", layer: 0, head: 1, patch: null }, is: [true, 4, 5, 6] },
  { what: "rollout of a patch", s: state({ rollout: { url: "m", queries: null } }, { m: HEADS }), of: { kind: "rollout", patch: 1 }, is: [true, 8, 8.5, 9] },
  { what: "rollout of the answer: its last step", s: state({ steps: { url: "s" } }, { s: { bytes: STEPS } }), of: { kind: "rollout", patch: null }, is: [true, 0, 3, 4] },
  { what: "rollout up to a layer", s: state({ steps: { url: "s" } }, { s: { bytes: STEPS } }), of: { kind: "step", layer: 0 }, is: [true, 0, 1, 2] },
  { what: "what came before there was a model", s: state({ values: [0.25, 0.5] }, {}), of: { kind: "rollout", patch: null }, is: [true, 0, 0.25, 0.5] },
  { what: "similarity of a position", s: state({ positions: { url: "p" } }, { p: { bytes: Uint8Array.from([127, 129, 0, 127]), all: true } }), of: { kind: "position", patch: 0 }, is: [true, 0, 1, -1] },
]
for (const { what, s, of, is } of READ) test(`numbers on the photo: ${what}`, () => assert.deepEqual(numbers(s, of), is))

test("a position that was not sent is answered by the nearest that was", () => {
  const out = new Float32Array(3)
  signedRow({ bytes: Uint8Array.from([0, 127]), nearest: [0, 0, 0] }, 2, 1, out)
  assert.deepEqual([...out], [0, 0, 1])
})

test("the strongest components, by size", () => assert.deepEqual(strongest(Int8Array.from([9, 9, 9, 9, 3, -7, 5, 0]), 1, 4, 3), [1, 2, 0]))

test("the nearest dot, within reach", () => {
  const dots = [[0, 0], [10, 0]]
  assert.deepEqual([nearestDot(dots, 6, 0, 14), nearestDot(dots, 4, 3, 14), nearestDot(dots, 40, 0, 14), nearestDot([], 0, 0, 14)], [1, 0, null, null])
})

test("a sequence fills its lines and its height", () => {
  for (const [count, wide] of [[257, 620], [197, 620], [577, 620], [17, 350]]) {
    const { rows, per, side } = lines(count, wide, 110)
    assert.ok(rows * per >= count && (rows - 1) * per < count && side * per <= wide + 1e-6 && side <= 40, `${count}`)
  }
})

test("a choice is told once it rests, with all that was not answered, and older answers do not undo it", () => {
  mock.timers.enable({ apis: ["setTimeout"] })
  const sent = [], s = { ...fresh({ n: 0, state: { patch: null, layer: null } }), send: told => sent.push(told) }
  choose(s, { patch: 4 }, 250)
  choose(s, { patch: 5 }, 250)
  mock.timers.tick(249)
  assert.deepEqual([sent, s.st.patch], [[], 5])
  mock.timers.tick(1)
  choose(s, { layer: 2 })
  mock.timers.tick(0)
  assert.deepEqual(sent, [{ n: 1, patch: 5 }, { n: 2, patch: 5, layer: 2 }])
  adoptChoices(s, { n: 1, state: { patch: 5, layer: null } })
  assert.equal(s.st.layer, 2, "what was chosen after that counts")
  adoptChoices(s, { n: 2, state: { patch: 9, layer: 2 } })
  assert.equal(s.st.patch, 9)
  mock.timers.reset()
})
