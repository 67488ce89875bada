// A region of patches on a map: a rectangle drawn out by a pointer, a finger or Shift and the arrow keys, and what its patches get together.
// A page has one: all its maps of as many rows and columns show it, and its address has it, so a link shows the same.

import { ARROWS, neighbour } from "./keys.js"
import { strokeTwice } from "./outlier_frames.js"
import { BARE_MS, DRAWN } from "./heat_overlay.js"
import { digits, fillIn, percent } from "./text_formatting.js"

const DRAG_PX = 6 // a press that moves less is a click
const RESTS_MS = 200 // a region changes many times while it is drawn; browsers refuse an address that does
const SETTLED_MS = 2000 // what the server answers to a choice made just before is there
const KEY = "region" // in the address
const SHOWN = "region-shown" // said to the other maps of the page
const BEGUN = "map-begun" // maps of a page that was left then stop listening, and are forgotten

/** @typedef {{ from: number, to: number }} Region Two patches at opposite corners. */
/** @typedef {{ rows: number, cols: number }} Grid */

/** A region's first row and column, and how many it has of each.
 * @param {Region} region @param {Grid} grid */
export function extentOf({ from, to }, { cols }) {
  const rows = [from, to].map(patch => Math.floor(patch / cols)), columns = [from, to].map(patch => patch % cols)
  const row = Math.min(...rows), col = Math.min(...columns)
  return { row, col, high: Math.abs(rows[0] - rows[1]) + 1, wide: Math.abs(columns[0] - columns[1]) + 1 }
}

/** A region as an address has it: its two corners and the grid that they are of.
 * @param {Region} region @param {Grid} grid */
const regionText = ({ from, to }, { rows, cols }) => `${from}-${to}-${rows}x${cols}`

/** The region of an address; null where there is none, or one of another grid.
 * @param {string} search @param {Grid} grid @returns {Region | null} */
export function regionOfAddress(search, grid) {
  const text = new URLSearchParams(search).get(KEY) ?? ""
  const [, from, to] = (/^(\d+)-(\d+)-/.exec(text) ?? []).map(Number), region = { from, to }
  const fits = regionText(region, grid) === text && Math.max(from, to) < grid.rows * grid.cols
  return fits && from !== to ? region : null
}

/** @param {string | null} text */
function writeAddress(text) {
  const here = new URL(location.href)
  if (here.searchParams.get(KEY) === text) return
  if (text) here.searchParams.set(KEY, text)
  else here.searchParams.delete(KEY)
  history.replaceState(history.state, "", here)
}

/** The sum of a region's values; the first patch's is at index `first`.
 * @param {ArrayLike<number>} values @param {number} first @param {Region} region @param {Grid} grid */
export function regionSum(values, first, region, grid) {
  const { row, col, high, wide } = extentOf(region, grid)
  let sum = 0
  for (let r = row; r < row + high; r++) for (let c = col; c < col + wide; c++) sum += values[first + r * grid.cols + c]
  return { sum, count: high * wide }
}

/** Where maps are shares of a whole (`even`: a token's even share of it), what a region gets of it; `mean`: of shares of several wholes,
 * what each of its patches has on average.
 * @param {ArrayLike<number>} values @param {number} first @param {Region} region @param {Grid} grid
 * @param {{ even: number, mean?: boolean, words: Record<string, string> }} how */
export function regionSentence(values, first, region, grid, { even, mean = false, words }) {
  const { sum, count } = regionSum(values, first, region, grid)
  const times = digits(sum / count / even)
  return fillIn(words[mean ? "region mean" : "region"], { count, percent: percent(mean ? sum / count : sum), times })
}

/** @param {CanvasRenderingContext2D} ctx @param {Region | null} region @param {Grid} grid @param {number} wide @param {number} high */
export function outlineRegion(ctx, region, grid, wide, high) {
  if (!region) return
  const box = extentOf(region, grid), w = wide / grid.cols, h = high / grid.rows
  strokeTwice(ctx, "#ffb000", 3, () => ctx.strokeRect(box.col * w, box.row * h, box.wide * w, box.high * h), { dash: [8, 4] })
}

/** Keeps `s.region`: the region that is held, or null; `s.fitRegion()` takes it from the address at first, and lets go of it where the map is another. While there is one the map stays as it is: nothing is pointed at.
 * `at(event)` is the patch under a pointer, `start()` that from which Shift and an arrow key begin; `flipped()`: the map is mirrored;
 * `blocked()`: another tool has the pointer.
 * @param {HTMLElement} canvas @param {any} s
 * @param {{ grid: () => Grid, at: (event: any) => number | null, start: () => number, changed: () => void, flipped?: () => boolean, blocked?: () => boolean }} how */
export function listenRegion(canvas, s, { grid, at, start, changed, flipped = () => false, blocked = () => false }) {
  const figure = canvas.closest("figure")
  let press = null // the pointer that is down, where it came down, and whether it has drawn a region since
  const shape = () => `${grid().rows} ${grid().cols}`
  let drawnOn = "", begun = false, timer
  let written // the region that this map put into the address, null where it took it out; the server's answer to an earlier choice undoes that
  const write = () => figure.isConnected && written !== undefined && writeAddress(written)
  const show = region => {
    drawnOn = shape()
    s.region = region && region.from !== region.to ? region : null
    figure.toggleAttribute("data-region", Boolean(s.region))
    changed()
  }
  const become = region => {
    const of = grid()
    begun = true
    show(region)
    clearTimeout(timer)
    timer = setTimeout(() => {
      written = s.region && regionText(s.region, of)
      write()
      window.dispatchEvent(new CustomEvent(SHOWN, { detail: figure }))
      timer = setTimeout(write, SETTLED_MS)
    }, RESTS_MS)
  }
  const fromAddress = () => {
    const region = regionOfAddress(location.search, grid())
    if (region?.from !== s.region?.from || region?.to !== s.region?.to) show(region)
  }
  const hear = (/** @type {any} */ { type, detail }) => {
    if (type === SHOWN && detail !== figure) written = undefined
    if (!figure.isConnected) for (const name of [SHOWN, BEGUN]) window.removeEventListener(name, hear)
    else if (type === SHOWN && begun && !blocked()) fromAddress()
  }
  for (const name of [SHOWN, BEGUN]) window.addEventListener(name, hear)
  setTimeout(() => window.dispatchEvent(new Event(BEGUN)), RESTS_MS)
  const listen = (name, hear, options = {}) => canvas.addEventListener(name, hear, { capture: true, ...options })
  const held = ({ timeStamp }) => press && !press.points && timeStamp - press.since > BARE_MS
  const drags = event => {
    if (Math.hypot(event.clientX - press.x, event.clientY - press.y) < DRAG_PX) return false
    press.points ||= event.pointerType === "touch" && !held(event) // a finger that moves at once points at patches, or moves the page
    return !press.points
  }
  const mine = event => { event.preventDefault(); event.stopImmediatePropagation() }
  s.region = null
  s.fitRegion = () => {
    if (s.region && (blocked() || drawnOn !== shape())) become(null)
    else if (!begun && !blocked()) fromAddress()
    begun ||= !blocked()
    if (written !== undefined) setTimeout(write, RESTS_MS)
  }
  figure.removeAttribute("data-region")
  listen("pointerdown", event => {
    if (event.button || !event.isPrimary) return
    press = null
    if (blocked()) return s.fitRegion()
    press = { from: at(event), x: event.clientX, y: event.clientY, since: event.timeStamp, drawn: false, points: false }
  })
  listen("pointermove", event => {
    if (!event.buttons) press = null // it was let go of beside the picture
    const moved = press && (event.clientX !== press.nowX || event.clientY !== press.nowY) // not the page below the pointer
    if (moved && press.from !== null && event.isPrimary) {
      Object.assign(press, { nowX: event.clientX, nowY: event.clientY })
      const to = at(event)
      if (to !== null && (press.drawn || (drags(event) && to !== press.from)) && !(s.region?.from === press.from && s.region.to === to)) {
        if (!press.drawn) canvas.dispatchEvent(new Event(DRAWN))
        press.drawn = true
        become({ from: press.from, to })
      }
    }
    if (s.region) event.stopImmediatePropagation()
  })
  listen("touchmove", event => { // else the page is moved
    if (event.cancelable && (press?.drawn || held(event))) event.preventDefault()
  }, { passive: false })
  listen("pointercancel", () => { // the page is moved
    if (press?.drawn) become(null)
    press = null
  })
  listen("click", event => {
    const drawn = press?.drawn
    press = null
    if (drawn) return mine(event)
    if (!s.region) return
    mine(event)
    become(null)
  })
  listen("keydown", event => {
    const step = ARROWS[event.key]
    if (!step || !event.shiftKey || event.altKey || event.ctrlKey || event.metaKey || blocked()) return
    mine(event)
    const { from, to } = s.region ?? { from: start(), to: start() }
    become({ from, to: neighbour(to, [step[0], flipped() ? -step[1] : step[1]], grid()) })
  })
  figure.addEventListener("keydown", event => {
    if (event.key !== "Escape" || !s.region) return
    mine(event)
    become(null)
  }, { capture: true })
}
