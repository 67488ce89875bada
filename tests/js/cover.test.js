// Covering's parts that need no browser: sets as text, what each tool covers, and undo.

import assert from "node:assert/strict"
import { test } from "node:test"
import { changed, decodePatches, encodePatches, floats, nearestKept, objectPatches, rectanglePatches, stepBack, strokePatches } from "../../app/components/cover/cover_tools_and_undo.js"

const GRID = { rows: 3, cols: 4, step: [8, 8] }
const masked = (...patches) => Uint8Array.from({ length: 12 }, (_, i) => Number(patches.includes(i)))

test("a set comes back from its text, the first patch in the highest bit", () => {
  assert.equal(encodePatches(masked(), GRID), "")
  assert.equal(encodePatches(masked(0, 11), GRID), "3x4-gBA") // 10000000 00010000
  for (const some of [[], [5], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]]) assert.deepEqual(decodePatches(encodePatches(masked(...some), GRID), GRID), masked(...some))
  assert.deepEqual(decodePatches("4x3-gBA", GRID), masked(), "another grid's: Python translates it")
  const wide = { rows: 16, cols: 16 }, all = new Uint8Array(256).fill(1)
  assert.match(encodePatches(all, wide), /^16x16-_+8$/, "no sign that an address would have to escape")
})

test("a stroke leaves no gaps, and a wide brush stays on the photo", () => {
  assert.deepEqual(strokePatches(0, 11, 1, GRID).sort((a, b) => a - b), [0, 5, 6, 11].sort((a, b) => a - b))
  assert.deepEqual(strokePatches(5, 5, 1, GRID), [5])
  assert.deepEqual(strokePatches(0, 0, 3, GRID), [0, 1, 4, 5])
})

test("a rectangle between any two corners", () => {
  assert.deepEqual(rectanglePatches(6, 1, GRID), [1, 2, 5, 6])
  assert.deepEqual(rectanglePatches(4, 4, GRID), [4])
})

test("an object hangs together among a map's strongest", () => {
  const values = [9, 8, 0, 7, 0, 8, 0, 0, 0, 0, 0, 6] // 0, 1 and 5 touch; 3 and 11 stand alone
  assert.deepEqual(objectPatches(values, 5, 5 / 12, GRID).sort(), [0, 1, 5])
  assert.deepEqual(objectPatches(values, 3, 5 / 12, GRID), [3])
  assert.deepEqual(objectPatches(values, 2, 5 / 12, GRID), [], "it is not among them")
  assert.equal(objectPatches(values, 3, 1, GRID).length, 12)
})

test("the nearest patch that is not covered, the first in reading order of several", () => {
  assert.deepEqual([...nearestKept(masked(5, 6), GRID)].slice(4, 8), [4, 1, 2, 7])
  assert.equal(nearestKept(masked(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), GRID)[3], 3)
})

test("what was undone can be done again, until something else is covered", () => {
  let history = { past: [], future: [] }
  for (const before of ["", "a", "b"]) history = changed(history, before) // now "c"
  const first = stepBack(history, "c", false)
  assert.equal(first.code, "b")
  const second = stepBack(first.history, "b", false)
  assert.deepEqual([second.code, stepBack(second.history, "a", true).code], ["a", "b"])
  assert.equal(stepBack(changed(second.history, "a"), "d", true), null)
  assert.equal(stepBack({ past: [], future: [] }, "c", false), null)
})

test("numbers come as 32-bit floats", () => {
  const bytes = Buffer.from(Float32Array.from([0.5, -2]).buffer)
  assert.deepEqual([...floats(bytes.toString("base64"))], [0.5, -2])
})
