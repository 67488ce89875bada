// What several components are made of: the colour scale's top, a press that is held, keys, ticks, words under a picture.

import assert from "node:assert/strict"
import { mock, test } from "node:test"
import { copyText } from "../../app/components/clipboard.js"
import { fillHover, ticksOf } from "../../app/components/chart/chart_ticks_and_hover.js"
import { needed, taken, typed } from "../../app/components/keys.js"
import { framed } from "../../app/components/outlier_frames.js"
import { heatOnPhoto, holding, scaleTop, there } from "../../app/components/heat_overlay.js"
import { clamp, digits, fillIn, minus, percent } from "../../app/components/text_formatting.js"
import { mayBePhoto, photoAmong } from "../../app/components/page_style/photo_drop.js"
import { countedTexts, describe, enlarged, patchIn, slotAt, slotOf } from "../../app/components/picture/picture.js"

const amounts = (count, ...towers) => Float32Array.from([7, ...Array(count - towers.length).fill(1), ...towers])
const TOPS = [
  { what: "the largest", values: amounts(10, 4), even: 0.1, top: 4 },
  { what: "a nearly flat map", values: amounts(10), even: 1, top: 2.5 },
  { what: "a tower among few", values: amounts(39, 100), even: 0.1, top: 100 },
  { what: "a tower among just enough", values: amounts(40, 100), even: 0.1, top: 5 },
  { what: "a tower among many", values: amounts(100, 100), even: 0.1, top: 1 },
  { what: "high, but no tower", values: amounts(100, 5), even: 0.1, top: 5 },
  { what: "towers that are many", values: amounts(100, ...Array(4).fill(100)), even: 0.1, top: 5 },
]
for (const { what, values, even, top } of TOPS)
  test(`the top of the colour scale: ${what}`, () => assert.equal(scaleTop(values, 1, even), top))

test("words are filled in, numbers written short and kept in range", () => {
  assert.equal(fillIn("{a} and {b}{c}", { a: 1, b: 0 }), "1 and 0")
  assert.equal(fillIn("带给{a}多少", { a: "分类 token" }), "带给分类 token 多少")
  assert.deepEqual([-1, 0, 2, 3].map(value => clamp(value, 3)), [0, 0, 2, 2])
  assert.deepEqual([digits(0.0012345), percent(0.1234), percent(0)], ["0.0012", "12\u00a0%", "0\u00a0%"])
  assert.deepEqual([digits(-1.234), minus(-0.5), minus("1e-7"), minus("x-y")], ["−1.2", "−0.5", "1e−7", "x-y"])
})

test("an image is there once it is loaded and has a size", () => {
  assert.deepEqual([undefined, null, { complete: false, naturalWidth: 3 }, { complete: true, naturalWidth: 0 }, { complete: true, naturalWidth: 3 }].map(there),
    [false, false, false, false, true])
})

/** An element that is pressed, and what was shown of it. */
function pressed() {
  const element = new EventTarget(), shown = []
  const wasHeld = holding(element, bare => shown.push(bare))
  const send = (type, facts = {}) => element.dispatchEvent(Object.assign(new Event(type, { cancelable: true }), facts))
  return { shown, wasHeld, send }
}

test("a short press is a click", () => {
  mock.timers.enable({ apis: ["setTimeout"] })
  const { shown, wasHeld, send } = pressed()
  send("pointerdown")
  mock.timers.tick(249)
  send("pointerup")
  mock.timers.tick(1000)
  assert.deepEqual([shown, wasHeld(), send("contextmenu")], [[], false, true])
  mock.timers.reset()
})

for (const end of ["pointerup", "pointercancel", "pointerleave", "blur"])
  test(`a long press shows the bare photo until ${end}, and is no click, once`, () => {
    mock.timers.enable({ apis: ["setTimeout"] })
    const { shown, wasHeld, send } = pressed()
    send("pointerdown")
    mock.timers.tick(250)
    assert.deepEqual([shown, send("contextmenu")], [[true], false], "no menu of the browser's")
    send(end)
    assert.deepEqual([shown, wasHeld(), wasHeld()], [[true, false], true, false])
    mock.timers.reset()
  })

test("the key P is held as well, without a shortcut", () => {
  const { shown, send } = pressed()
  send("keydown", { key: "p", ctrlKey: true })
  assert.deepEqual(shown, [])
  assert.equal(send("keydown", { key: "P" }), false)
  send("keydown", { key: "p" }) // the system repeats it
  send("keyup", { key: "p" })
  assert.deepEqual(shown, [true, false])
})

const OPEN = Symbol("a popover")
const node = kind => ({ matches: selector => selector.split(", ").includes(kind) })
const KEYS = [
  { what: "nothing in the way", path: [node("body")], taken: false, needed: false, typed: false },
  { what: "another has had it", path: [node("body")], event: { defaultPrevented: true }, taken: true, needed: true, typed: true },
  { what: "a shortcut", path: [node("body")], event: { ctrlKey: true }, taken: true, needed: true, typed: true },
  { what: "shift", path: [node("body")], event: { shiftKey: true }, taken: true, needed: true, typed: false },
  { what: "somebody writes", path: [node("textarea")], taken: true, needed: true, typed: true },
  { what: "somebody looks for a name in a menu", path: [node("[role=combobox]")], taken: false, needed: true, typed: true },
  { what: "a slider has the focus", path: [node("[role=slider]"), node("body")], taken: false, needed: true, typed: false },
  { what: "the focus is within a dialog", path: [node("b"), node("[role=dialog]")], taken: false, needed: true, typed: false },
  { what: "a popover is open", path: [node("body")], open: OPEN, taken: true, needed: true, typed: true },
]
for (const { what, path, event = {}, open = null, ...expected } of KEYS)
  test(`a key: ${what}`, () => {
    globalThis.document = { querySelector: () => open }
    const key = { composedPath: () => path, ...event }
    assert.deepEqual({ taken: taken(key), needed: needed(key), typed: typed(key) }, expected)
  })

const DROPPED = [
  { what: "a photo", files: [["a.jpg", "image/jpeg"]], taken: "a.jpg" },
  { what: "HEIC, whose type no browser knows", files: [["a.HEIC", ""]], taken: "a.HEIC" },
  { what: "the first photo of several files", files: [["a.txt", "text/plain"], ["b.png", "image/png"], ["c.png", "image/png"]], taken: "b.png" },
  { what: "a model", files: [["a.safetensors", ""]], taken: undefined },
  { what: "words", files: [], taken: undefined },
]
for (const { what, files, taken } of DROPPED)
  test(`dropped: ${what}`, () => assert.equal(photoAmong(files.map(([name, type]) => ({ name, type })))?.name, taken))

test("only files may be photos while they are dragged", () =>
  assert.deepEqual([null, { types: ["text/plain"] }, { types: ["text/uri-list", "Files"] }].map(mayBePhoto), [false, false, true]))

test("a text is in the clipboard, or the page says so", async () => {
  const written = []
  const clipboard = writeText => Object.defineProperty(globalThis, "navigator", { value: { clipboard: writeText && { writeText } }, configurable: true })
  clipboard(async text => written.push(text))
  assert.deepEqual([await copyText("a"), written], [true, ["a"]])
  clipboard(async () => { throw new Error("not allowed") })
  assert.equal(await copyText("a"), false)
  clipboard(undefined) // plain http
  assert.equal(await copyText("a"), false)
})

test("a frame lies within its patch, twice, the dark one first", () => {
  const drawn = []
  framed({ set strokeStyle(colour) { drawn.push(colour) }, strokeRect: (...box) => drawn.push(box) }, [0, 5], 2, 3, 300, 200)
  const boxes = [[8, 8, 84, 84], [208, 108, 84, 84]]
  assert.deepEqual(drawn, ["rgba(0,0,0,.85)", ...boxes, "#4FC3D9", ...boxes])
  framed({ strokeRect: () => assert.fail("no patch, no frame") }, undefined, 2, 3, 300, 200)
})

const AXES = [
  { what: "none", axis: { visible: false, range: [0, 1] }, most: 5, labels: [] },
  { what: "given", axis: { tickvals: [0, 2], ticktext: ["a"], range: [0, 1] }, most: 5, labels: ["a", "2"] },
  { what: "round steps", axis: { range: [0, 1] }, most: 5, labels: ["0", "0.2", "0.4", "0.6", "0.8", "1"] },
  { what: "upside down", axis: { range: [10, 0] }, most: 2, labels: ["0", "5", "10"] },
  { what: "from below zero", axis: { range: [-1.5, 1.5] }, most: 3, labels: ["−1", "0", "1"] },
  { what: "small", axis: { range: [0, 0.004] }, most: 2, labels: ["0", "2e−3", "4e−3"] },
  { what: "thousands", axis: { range: [0, 20000] }, most: 2, labels: ["0", "10k", "20k"] },
  { what: "a step of its own", axis: { range: [0, 3], dtick: 1 }, most: 5, labels: ["0", "1", "2", "3"] },
  { what: "a step of its own where there is no room", axis: { range: [0, 11], dtick: 1 }, most: 2, labels: ["0", "4", "8"] },
  { what: "logarithmic", axis: { range: [-2.1, 1.2], type: "log" }, most: 5, labels: ["0.01", "0.1", "1", "10"] },
]
for (const { what, axis, most, labels } of AXES)
  test(`the ticks of an axis: ${what}`, () => assert.deepEqual(ticksOf(axis, most).map(tick => tick.label), labels))

test("a point says its numbers as Plotly would", () => {
  assert.equal(fillHover("layer %{x}<br>%{y:.2f} px", 3, 12.345), "layer 3 · 12.35 px")
  assert.equal(fillHover("%{x:,}", 1234567.8, 0), "1,234,570")
})

const WORDS = { patch: "patch {patch} (row {row}, column {col})", times: "{times} even shares", outlier: "outlier", slot: "slot {slot}: {place}", hold: "hold P" }
const PICTURE = { rows: 2, cols: 3, cell: [16, 8], gutter: 4, words: WORDS, unit: "%", order: null, values: null, marks: null }
const PLACES = [
  { what: "no patch", slot: null, data: {}, said: "\u00a0" },
  { what: "no patch, with heat", slot: undefined, data: { overlay: "x" }, said: "hold P" },
  { what: "where it is", slot: 4, data: {}, said: "patch 4 (row 1, column 1) · x 8–15, y 16–31 px" },
  { what: "its value", slot: 0, data: { values: [0.12345] }, said: "patch 0 (row 0, column 0) · x 0–7, y 0–15 px · 0.123\u00a0%" },
  { what: "no value of its own", slot: 0, data: { values: [null] }, said: "patch 0 (row 0, column 0) · x 0–7, y 0–15 px" },
  { what: "in even shares", slot: 0, data: { values: [0.3], even: 0.08 }, said: "patch 0 (row 0, column 0) · x 0–7, y 0–15 px · 0.3\u00a0% · 3.8 even shares" },
  { what: "of two maps", slot: 0, data: { values: [0.3], even: 0.1, other: { names: ["A", "B"], values: [1.234], even: 0.1 } }, said: "patch 0 (row 0, column 0) · x 0–7, y 0–15 px · A 0.30\u00a0% · 3 even shares · B 1.23\u00a0% · 12 even shares" },
  { what: "an outlier", slot: 5, data: { marks: [5] }, said: "patch 5 (row 1, column 2) · x 16–23, y 16–31 px · outlier" },
  { what: "moved", slot: 0, data: { order: [5, 1, 2, 3, 4, 0] }, said: "slot 0: patch 5 (row 1, column 2) · x 16–23, y 16–31 px" },
  { what: "left in its place", slot: 1, data: { order: [5, 1, 2, 3, 4, 0] }, said: "patch 1 (row 0, column 1) · x 8–15, y 0–15 px" },
]
for (const { what, slot, data, said } of PLACES)
  test(`the words under a picture: ${what}`, () => assert.equal(describe(slot, { ...PICTURE, ...data }), said))

test("the patch under the pointer, gutters counted with the patch before", () => {
  const canvas = { clientWidth: 64, getBoundingClientRect: () => ({ left: 10, top: 20 }) } // twice the picture's 32 px
  const at = (x, y) => slotAt({ clientX: 10 + x, clientY: 20 + y }, canvas, { data: PICTURE })
  assert.deepEqual([at(0, 0), at(23, 0), at(24, 0), at(0, 39), at(0, 40), at(71, 79)], [0, 0, 1, 0, 3, 5])
  assert.deepEqual([at(-1, 0), at(0, -1), at(72, 0), at(0, 80)], [null, null, null, null])
})

test("of every third row and column there is a slot, and a patch between them has none", () => {
  const data = { ...PICTURE, rows: 5, cols: 7, step: 3 } // rows 0 and 3, columns 0, 3 and 6
  assert.deepEqual([0, 1, 2, 3, 5].map(slot => patchIn(slot, data)), [0, 3, 6, 21, 27])
  assert.deepEqual([0, 6, 27, 1, 7].map(patch => slotOf(patch, data)), [0, 2, 5, null, null])
})

test("rows and columns have their numbers, the first with its name, and not too many", () => {
  const words = { "first row": "row 0", "first column": "column 0" }
  assert.deepEqual(countedTexts({ rows: 7, cols: 4, step: 3, counted: true, words }), { columns: ["column 0", "3"], rows: ["row 0", "3", "6"] })
  assert.equal(countedTexts({ rows: 16, cols: 16, counted: true, words }).rows.filter(Boolean).length, 8)
  assert.deepEqual(countedTexts({ rows: 2, cols: 2, counted: false, words }), { columns: [], rows: [] })
})

test("a patch pointed at is drawn a third of the picture wide, and stays within the picture", () => {
  assert.deepEqual(enlarged([50, 50, 10, 10], 120, 120), [35, 35, 40, 40])
  assert.deepEqual(enlarged([0, 110, 10, 10], 120, 120), [0, 80, 40, 40])
  assert.deepEqual(enlarged([0, 0, 60, 60], 120, 120), [0, 0, 60, 60])
})

test("heat is drawn on a photo only with the photo's detail", () => {
  const calls = []
  const ctx = /** @type {any} */ ({ save() {}, restore() {}, drawImage: (/** @type {any} */ image) => calls.push(image) })
  const detail = /** @type {any} */ ({ complete: false, naturalWidth: 0 })
  heatOnPhoto(ctx, [{ image: "map" }], detail, 8, 8)
  heatOnPhoto(ctx, [{ image: "map" }], null, 8, 8)
  assert.deepEqual(calls, [])
  Object.assign(detail, { complete: true, naturalWidth: 4 })
  heatOnPhoto(ctx, [{ image: "map" }], detail, 8, 8)
  assert.deepEqual(calls, ["map", detail])
})
