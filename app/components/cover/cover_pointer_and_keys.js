// What covering's parts do when touched, by mouse, finger or keys, and what they say.

import { showChange } from "../answer_change/answer_change.js"
import { choose } from "../pending_choices.js"
import { ARROWS, neighbour } from "../keys.js"
import { holding, placeOf } from "../heat_overlay.js"
import { clamp, fillIn, percent } from "../text_formatting.js"
import { changed, decodePatches, encodePatches, objectPatches, rectanglePatches, stepBack, strokePatches } from "./cover_tools_and_undo.js"
import { scheduleCover } from "./cover_draw.js"

const TOOL_KEYS = { b: "brush", e: "eraser", r: "rectangle", o: "object" }

export function listenCover(s) {
  const { root } = s, hit = root.querySelector(".hit")
  hit.onpointerdown = e => {
    const patch = patchAt(s, hit, e)
    if (e.button || patch === null) return
    hit.setPointerCapture(e.pointerId)
    begin(s, patch)
  }
  hit.onpointermove = e => {
    const patch = patchAt(s, hit, e, Boolean(s.stroke))
    if (s.stroke) drag(s, patch)
    else point(s, patch)
  }
  hit.onpointerup = () => end(s)
  hit.onpointercancel = () => giveUp(s)
  hit.onpointerleave = () => !s.stroke && point(s, null)
  hit.onblur = () => { s.cursor = null; point(s, null) }
  hit.onkeydown = e => pressedKey(s, e)
  hit.onkeyup = e => { if (e.key.toLowerCase() === "p") { s.bare = false; scheduleCover(s) } }
  root.onkeydown = e => undone(s, e)
  for (const button of root.querySelectorAll("[data-tool]")) button.onclick = () => useTool(s, button.dataset.tool)
  root.querySelector("[data-act=undo]").onclick = () => step(s, false)
  root.querySelector("[data-act=redo]").onclick = () => step(s, true)
  root.querySelector("[data-act=clear]").onclick = () => become(s, new Uint8Array(s.mask.length))
  root.querySelector(".size input").oninput = e => { s.size = Number(e.target.value); wordsOf(s) }
  root.querySelector(".threshold input").oninput = e => { s.share = Number(e.target.value) / 100; wordsOf(s); point(s, s.hover ?? strongestOf(s)) }
  for (const canvas of root.querySelectorAll(".pair canvas")) {
    canvas.onpointermove = e => { s.read = patchAt(s, canvas, e); readOut(s) }
    canvas.onpointerleave = () => { s.read = null; readOut(s) }
    holding(canvas, bare => { s.held = bare; scheduleCover(s) })
  }
}

// The patch under the pointer; outside, the nearest where a stroke goes on there, else none.
function patchAt(s, element, event, nearest = false) {
  const box = element.getBoundingClientRect(), { rows, cols } = s.data.grid, { clientX, clientY } = placeOf(event)
  const row = Math.floor(((clientY - box.top) / box.height) * rows), col = Math.floor(((clientX - box.left) / box.width) * cols)
  if (!nearest && (row < 0 || col < 0 || row >= rows || col >= cols)) return null
  return clamp(row, rows) * cols + clamp(col, cols)
}

const strongestOf = s => s.object.indexOf(Math.max(...s.object))

// What the tool covers at a patch, from where a stroke began.
function reached(s, patch, from = patch) {
  const { grid } = s.data
  if (s.tool === "object") return objectPatches(s.object, patch, s.share, grid)
  return s.tool === "rectangle" ? rectanglePatches(from, patch, grid) : strokePatches(from, patch, s.size, grid)
}

function point(s, patch) {
  s.hover = patch
  s.ahead = patch === null ? [] : reached(s, patch, s.corner ?? patch)
  s.read = patch
  readOut(s)
  scheduleCover(s)
}

function begin(s, patch) {
  s.corner = null
  s.stroke = { from: patch, last: patch, mask: s.mask.slice() }
  drag(s, patch)
}

function drag(s, patch) {
  const { stroke } = s, moves = s.tool === "rectangle"
  if (moves || s.tool === "object") s.mask = stroke.mask.slice()
  for (const one of reached(s, patch, moves ? stroke.from : stroke.last)) s.mask[one] = s.tool === "eraser" ? 0 : 1
  stroke.last = s.read = patch
  s.ahead = []
  readOut(s)
  scheduleCover(s)
}

function end(s) {
  if (!s.stroke) return
  const { mask } = s, before = s.stroke.mask
  s.stroke = null
  s.mask = before
  become(s, mask)
}

function giveUp(s) {
  if (s.stroke) s.mask = s.stroke.mask
  s.stroke = s.corner = null
  scheduleCover(s)
}

// Another set is covered: it can be undone, and Python is told.
function become(s, mask) {
  const code = encodePatches(mask, s.data.grid)
  s.mask = mask
  if (code === s.code) return scheduleCover(s)
  s.history = changed(s.history, s.code)
  goTo(s, code)
}

function step(s, forward) {
  const found = stepBack(s.history, s.code, forward)
  if (!found) return
  s.history = found.history
  s.mask = decodePatches(found.code, s.data.grid)
  goTo(s, found.code)
}

function goTo(s, code) {
  s.code = code
  s.root.classList.add("waiting")
  choose(s, { covered: code })
  wordsOf(s)
  scheduleCover(s)
}

function useTool(s, tool) {
  s.tool = tool
  s.corner = null
  if (tool === "object") point(s, s.hover ?? strongestOf(s))
  else point(s, s.hover)
  wordsOf(s)
}

function undone(s, e) {
  if (!(e.ctrlKey || e.metaKey) || e.altKey || !"zy".includes(e.key.toLowerCase())) return
  step(s, e.shiftKey || e.key.toLowerCase() === "y")
  e.preventDefault()
  e.stopPropagation()
}

// Arrows move, with Shift they paint; Space covers, once more uncovers; letters choose a tool.
function pressedKey(s, e) {
  if (e.ctrlKey || e.metaKey || e.altKey) return
  const { grid } = s.data, letter = e.key.toLowerCase(), move = ARROWS[e.key]
  const at = s.cursor ?? s.hover ?? Math.floor(grid.rows / 2) * grid.cols + Math.floor(grid.cols / 2)
  if (move) {
    const next = neighbour(at, move, grid)
    s.cursor = next
    if (e.shiftKey && (s.tool === "brush" || s.tool === "eraser")) { begin(s, at); drag(s, next); end(s) }
    point(s, next)
  } else if (letter === " " || letter === "enter") act(s, at)
  else if (TOOL_KEYS[letter]) useTool(s, TOOL_KEYS[letter])
  else if (letter === "u" || letter === "y") step(s, letter === "y")
  else if (letter === "[" || letter === "]") { s.size = clamp(s.size - 1 + (letter === "]" ? 1 : -1), 5) + 1; wordsOf(s); point(s, at) }
  else if (letter === "p") { s.bare = true; scheduleCover(s) }
  else if (letter === "escape" && s.corner !== null && s.corner !== undefined) { s.corner = null; point(s, at) }
  else return
  e.preventDefault()
  e.stopPropagation()
}

function act(s, at) {
  s.cursor = at
  if (s.tool === "rectangle" && (s.corner === null || s.corner === undefined)) s.corner = at
  else {
    const tool = s.tool, { corner } = s
    if (tool === "brush" && s.mask[at]) s.tool = "eraser"
    begin(s, corner ?? at)
    drag(s, at)
    end(s)
    s.tool = tool
  }
  point(s, at)
}

// What a choice changes: pressed buttons, ranges, the answer, the sentence.
export function wordsOf(s) {
  const { root, data } = s, q = one => root.querySelector(one)
  for (const button of root.querySelectorAll("[data-tool]")) button.setAttribute("aria-pressed", String(button.dataset.tool === s.tool))
  q("[data-act=undo]").disabled = !s.history.past.length
  q("[data-act=redo]").disabled = !s.history.future.length
  q("[data-act=clear]").disabled = !s.mask.includes(1)
  for (const button of q(".fills").querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset.fill === s.st.fill))
  q(".about").textContent = data.about
  q(".about").hidden = !data.about
  q(".size").hidden = s.tool === "object" // the other stands in its place
  q(".size input").disabled = s.tool === "rectangle"
  q(".threshold").hidden = s.tool !== "object"
  q(".size input").value = String(s.size)
  q(".size output").textContent = `${s.size}×${s.size}`
  q(".threshold input").value = String(Math.round(100 * s.share))
  q(".threshold output").textContent = percent(s.share)
  if (data.state.covered === s.code && data.state.fill === s.st.fill) answer(s)
  readOut(s)
}

/** The buttons of what covers, of which a model may lack the last. */
export function fillButtons(s) {
  const row = s.root.querySelector(".fills"), names = Object.entries(s.data.fills)
  row.querySelectorAll("button").forEach(button => button.remove())
  for (const [name, title] of names) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "tile", textContent: title })
    button.dataset.fill = name
    button.onclick = () => { s.root.classList.add("waiting"); choose(s, { fill: name }); wordsOf(s) }
    row.append(button)
  }
}

function answer(s) {
  const { root, data } = s
  s.shown = decodePatches(data.state.covered, data.grid)
  showChange(root, data)
  for (const line of root.querySelectorAll(".scale")) line.querySelector(".top").textContent = data.maps[line.dataset.map].scale
}

// The values of both maps, before and after, at the patch that is pointed at.
function readOut(s) {
  const { root, data, read } = s, line = root.querySelector(".pointed")
  if (read === null || read === undefined) return (line.textContent = data.words.point)
  const share = values => (values ? percent(values[read]) : "–"), { rollout, class_attention: attention } = s.maps
  const facts = { patch: read, row: Math.floor(read / data.grid.cols), col: read % data.grid.cols }
  const values = { r0: share(rollout.before), r1: share(rollout.after), a0: share(attention.before), a1: share(attention.after) }
  line.textContent = fillIn(data.words.value, { ...facts, ...values })
}
