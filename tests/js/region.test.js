// A region of patches: its rectangle, what it gets, and how a pointer, a finger and keys mark it and let go.

import assert from "node:assert/strict"
import { beforeEach, mock, test } from "node:test"
import { extentOf, listenRegion, regionOfAddress, regionSentence, regionSum } from "../../app/components/region_selection.js"
import { describeRegion } from "../../app/components/picture/picture.js"

const GRID = { rows: 3, cols: 4 }
const WORDS = { region: "{count}: {percent}, {times} times", "region mean": "{count}: each {percent}, {times} times", "region value": "{count}: {value} {unit}" }

/** A page at this address. */
function open(href) {
  const here = { href, get search() { return new URL(this.href).search } }
  Object.assign(globalThis, { window: new EventTarget(), location: here, history: { state: null, replaceState: (_state, _title, to) => (here.href = String(to)) } })
}
beforeEach(() => {
  mock.timers.reset()
  mock.timers.enable({ apis: ["setTimeout"] })
  open("http://here/?layer=2")
})

test("a region is the rectangle between its corners, whichever was first", () => {
  for (const [from, to] of [[1, 7], [7, 1], [3, 5], [5, 3]]) assert.deepEqual(extentOf({ from, to }, GRID), { row: 0, col: 1, high: 2, wide: 3 })
})

test("a region gets the sum of its patches, the tokens before them left out", () => {
  const values = Float64Array.from([0.5, ...Array.from({ length: 12 }, (_, i) => (i + 1) / 1000)])
  const { sum, count } = regionSum(values, 1, { from: 0, to: 5 }, GRID)
  assert.deepEqual([Math.round(1000 * sum), count], [1 + 2 + 5 + 6, 4])
  const how = { even: 0.007, words: WORDS }
  assert.equal(regionSentence(values, 1, { from: 0, to: 5 }, GRID, how), "4: 1.4\u00a0%, 0.5 times")
  assert.equal(regionSentence(values, 1, { from: 0, to: 5 }, GRID, { ...how, mean: true }), "4: each 0.35\u00a0%, 0.5 times")
})

test("a picture says what a region gets of one map, of two maps, or of a map that is no share", () => {
  const map = { ...GRID, values: Array(12).fill(2), even: 4, unit: "% of the total", words: WORDS }, region = { from: 0, to: 1 }
  assert.equal(describeRegion(region, map), "2: 4\u00a0%, 0.5 times")
  assert.equal(describeRegion(region, { ...map, other: { names: ["A", "B"], values: Array(12).fill(4), even: 4 } }), "A: 2: 4\u00a0%, 0.5 times · B: 2: 8\u00a0%, 1 times")
  assert.equal(describeRegion(region, { ...map, even: null, unit: "logits", values: Array(12).fill(-0.25) }), "2: −0.5 logits")
})

/** A canvas of GRID, 10 px a patch, what is heard on it, and the figure around it. */
function stage(how = {}) {
  const heard = {}, s = /** @type {any} */ ({}), seen = []
  const element = into => ({ addEventListener: (name, hear) => (into[name] = hear), toggleAttribute() {}, removeAttribute() {}, dispatchEvent: event => seen.push(event.type) })
  const figure = { ...element((heard.figure = {})), isConnected: true }, canvas = /** @type {any} */ ({ ...element(heard), closest: () => figure })
  listenRegion(canvas, s, { grid: () => GRID, at: ({ clientX, clientY }) => Math.floor(clientY / 10) * 4 + Math.floor(clientX / 10), start: () => 5, changed: () => {}, ...how })
  const send = (name, facts = {}, into = heard) => {
    const event = { isPrimary: true, buttons: 1, button: 0, cancelable: true, stopped: false, kept: false, preventDefault() { this.kept = true }, stopImmediatePropagation() { this.stopped = true }, ...facts }
    into[name](event)
    return event
  }
  return { s, send, seen, figure, press: (key, facts) => send("keydown", { key, ...facts }), escape: () => send("keydown", { key: "Escape" }, heard.figure) }
}

test("a pointer draws a region out, and the next click lets go of it", () => {
  const page = { down: 0 }, { s, send, seen } = stage({ at: ({ clientX, clientY }) => Math.floor((clientY - page.down) / 10) * 4 + Math.floor(clientX / 10) })
  send("pointerdown", { clientX: 8, clientY: 5 })
  assert.equal(send("pointermove", { clientX: 11, clientY: 5 }).stopped, false)
  assert.equal(s.region, null) // over an edge, but no further than a click slips
  assert.equal(send("pointermove", { clientX: 25, clientY: 15 }).stopped, true)
  assert.deepEqual([s.region, seen], [{ from: 0, to: 6 }, ["drawn"]])
  page.down = 10 // the page moves below a pointer that rests
  send("pointermove", { clientX: 25, clientY: 15 })
  page.down = 0
  assert.deepEqual(s.region, { from: 0, to: 6 })
  assert.equal(send("touchmove").kept, true)
  assert.equal(send("click", { clientX: 25, clientY: 15 }).stopped, true)
  assert.deepEqual(s.region, { from: 0, to: 6 })
  assert.equal(send("pointermove", { clientX: 35, clientY: 25, buttons: 0 }).stopped, true) // nothing is pointed at
  assert.deepEqual(s.region, { from: 0, to: 6 })
  send("pointerdown", { clientX: 5, clientY: 5 })
  assert.equal(send("click", { clientX: 5, clientY: 5 }).stopped, true)
  assert.equal(s.region, null)
  send("pointerdown", { clientX: 5, clientY: 5 })
  assert.equal(send("click", { clientX: 5, clientY: 5 }).stopped, false) // an ordinary one
})

test("a finger that moves the page draws nothing, and a pointer let go of elsewhere draws no further", () => {
  const { s, send } = stage()
  send("pointerdown", { clientX: 5, clientY: 5, timeStamp: 100 })
  assert.equal(send("touchmove").kept, false)
  send("pointermove", { clientX: 5, clientY: 15, pointerType: "touch" })
  assert.equal(send("touchmove").kept, false)
  for (const timeStamp of [200, 400]) send("pointermove", { clientX: 15, clientY: timeStamp / 20, pointerType: "touch", timeStamp })
  assert.equal(send("touchmove", { timeStamp: 500 }).kept, false)
  assert.equal(s.region, null) // it points at patches
  send("pointerdown", { clientX: 5, clientY: 5, timeStamp: 100 })
  send("pointermove", { clientX: 15, clientY: 16, pointerType: "touch", timeStamp: 400 }) // it has rested
  assert.deepEqual(s.region, { from: 0, to: 5 })
  send("pointercancel")
  assert.equal(s.region, null)
  send("pointerdown", { clientX: 5, clientY: 5 })
  send("pointermove", { clientX: 25, clientY: 5, buttons: 0 })
  assert.equal(s.region, null)
})

test("a region goes where the map is another, and where another tool takes the pointer", () => {
  let grid = GRID, blocked = false
  const { s, send, press } = stage({ grid: () => grid, blocked: () => blocked })
  press("ArrowRight", { shiftKey: true })
  s.fitRegion()
  assert.deepEqual(s.region, { from: 5, to: 6 }) // the same map
  grid = { rows: 2, cols: 2 }
  s.fitRegion()
  assert.equal(s.region, null)
  grid = GRID
  press("ArrowRight", { shiftKey: true })
  blocked = true
  send("pointerdown", { clientX: 5, clientY: 5 })
  assert.equal(send("pointermove", { clientX: 25, clientY: 5 }).stopped, false) // the stroke is the other tool's
  assert.equal(s.region, null)
})

test("Shift and arrow keys stretch a region within the map, Escape lets go of it", () => {
  const { s, press, escape } = stage()
  assert.equal(press("ArrowRight").stopped, false)
  for (const key of ["ArrowRight", "ArrowDown", "ArrowDown"]) assert.equal(press(key, { shiftKey: true }).stopped, true)
  assert.deepEqual(s.region, { from: 5, to: 10 })
  assert.equal(escape().stopped, true)
  assert.equal(s.region, null)
  assert.equal(escape().stopped, false) // for what else it means
  const mirrored = stage({ flipped: () => true })
  mirrored.press("ArrowRight", { shiftKey: true })
  assert.deepEqual(mirrored.s.region, { from: 5, to: 4 })
  const brushing = stage({ blocked: () => true })
  assert.equal(brushing.press("ArrowRight", { shiftKey: true }).stopped, false)
})

test("a region stands in the address once it rests, every map of as many patches shows it, and it goes from there when it is let go of", () => {
  const drawn = stage(), beside = stage(), other = stage({ grid: () => ({ rows: 4, cols: 3 }) }), left = stage()
  for (const { s } of [drawn, beside, other, left]) s.fitRegion()
  left.figure.isConnected = false
  drawn.press("ArrowRight", { shiftKey: true })
  assert.equal(location.href, "http://here/?layer=2")
  mock.timers.tick(200)
  assert.equal(location.href, "http://here/?layer=2&region=5-6-3x4")
  assert.deepEqual([drawn, beside, other, left].map(({ s }) => s.region), [{ from: 5, to: 6 }, { from: 5, to: 6 }, null, null])
  beside.escape()
  mock.timers.tick(200)
  assert.equal(location.href, "http://here/?layer=2")
  assert.equal(drawn.s.region, null)
})

test("an address brings its region to maps of its grid, and to no other", () => {
  for (const [text, region] of [["1-6-3x4", { from: 1, to: 6 }], ["1-6-4x3", null], ["1-1-3x4", null], ["1-12-3x4", null], ["01-6-3x4", null], ["1-NaN-3x4", null],
    ["6-3x4", null], ["-1-6-3x4", null], ["1.5-6-3x4", null]]) {
    assert.deepEqual(regionOfAddress(`?region=${text}`, GRID), region, text)
  }
  open("http://here/?region=1-6-3x4")
  let blocked = true, grid = GRID
  const { s } = stage({ blocked: () => blocked, grid: () => grid })
  s.fitRegion()
  assert.equal(s.region, null) // there is no map yet
  blocked = false
  s.fitRegion()
  assert.deepEqual(s.region, { from: 1, to: 6 })
  grid = { rows: 2, cols: 2 }
  s.fitRegion()
  mock.timers.tick(200)
  assert.equal(location.href, "http://here/") // of a map that is no more
})

test("the server's answer to what was chosen just before takes no region out of the address, and brings none back", () => {
  const { s, press, escape } = stage()
  s.fitRegion()
  press("ArrowRight", { shiftKey: true })
  mock.timers.tick(200)
  location.href = "http://here/?layer=3" // of a run of the server that began before
  s.fitRegion()
  mock.timers.tick(200)
  assert.equal(location.href, "http://here/?layer=3&region=5-6-3x4")
  location.href = "http://here/?layer=4" // without anything new for the map
  mock.timers.tick(2000)
  assert.equal(location.href, "http://here/?layer=4&region=5-6-3x4")
  escape()
  mock.timers.tick(200)
  location.href = "http://here/?layer=5&region=5-6-3x4"
  mock.timers.tick(2000)
  assert.equal(location.href, "http://here/?layer=5")
})

test("maps of a page that was left stop listening when the next page's map begins", () => {
  const add = window.addEventListener.bind(window), remove = window.removeEventListener.bind(window), heard = new Set()
  Object.assign(window, { addEventListener: (name, hear) => { heard.add(hear); add(name, hear) }, removeEventListener: (name, hear) => { heard.delete(hear); remove(name, hear) } })
  const left = stage()
  assert.equal(heard.size, 1)
  left.figure.isConnected = false
  stage()
  mock.timers.tick(200)
  assert.equal(heard.size, 1)
})
