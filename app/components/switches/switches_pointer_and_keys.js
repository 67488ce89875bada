// What the switches do when touched, by mouse, finger or keys, and what they say.

import { showChange } from "../answer_change/answer_change.js"
import { make } from "../elements.js"
import { choose } from "../pending_choices.js"
import { holding } from "../heat_overlay.js"
import { fillIn } from "../text_formatting.js"
import { scheduleSwitches } from "./switches_draw.js"
import { encodeOff, ledTo, needsBlack, placeOfDrop, shortNumber } from "./switches_state.js"

const LATER_MS = 120 // several switches in one breath are one message

export function listenSwitches(s) {
  s.root.querySelector("[data-act=all]").onclick = () => become(s, new Set())
  s.root.querySelector("[data-act=try]").onclick = () => { choose(s, { scan: "tried" }); sayChoices(s) }
  for (const canvas of s.root.querySelectorAll("canvas[data-when]")) holding(canvas, bare => { s.bare = bare; scheduleSwitches(s) })
}

const added = (parent, tag, className, words) => make(tag, parent, { className, textContent: words })

/** The grid and the chips, of what this model has. */
export function buildBoard(s) {
  const { data, root } = s, { components, heads, layers, words } = data, board = root.querySelector(".board"), tokens = root.querySelector(".tokens")
  const parts = ["attn", "mlp"].filter(kind => components.some(one => one.kind === kind))
  board.replaceChildren()
  tokens.replaceChildren()
  board.style.setProperty("--heads", String(heads))
  board.style.setProperty("--parts", String(Math.max(1, parts.length)))
  added(board, "span", "", "").style.gridColumn = "1"
  for (let head = 0; head < heads; head++) added(board, "span", "", fillIn(heads > 6 ? "{head}" : words.head, { head })).style.gridColumn = String(head + 2)
  parts.forEach((kind, i) => { added(board, "span", "", words[kind === "attn" ? "attention" : "mlp"]).style.gridColumn = String(heads + 3 + i) })
  for (let layer = 0; layer < layers; layer++) {
    const label = added(board, "span", "row", fillIn(layer ? "{layer}" : words.layer, { layer }))
    Object.assign(label.style, { gridColumn: "1", gridRow: String(layer + 2) })
  }
  for (const one of components) one.kind in CHIPS ? chip(s, tokens, one) : cell(s, board, one, parts)
  board.querySelector("button")?.setAttribute("tabindex", "0")
}

/** What takes the place of a part, and which map is shown: a row of buttons each. */
export function buildChoices(s) {
  for (const row of s.root.querySelectorAll("[data-choice]")) {
    const name = row.dataset.choice
    for (const old of row.querySelectorAll("button")) old.remove()
    for (const [value, label] of s.data.choices[name]) {
      const button = added(row, "button", "tile", label)
      Object.assign(button, { type: "button", value, title: s.data.words[`${name} help`] ?? "" })
      button.onclick = () => { s.root.classList.add("waiting"); choose(s, { [name]: value }); sayChoices(s) }
    }
  }
}

/** Which of them is chosen, and whether every head is being tried. */
export function sayChoices(s) {
  const { root, data } = s, button = root.querySelector("[data-act=try]"), trying = Boolean(s.st.scan) && !data.scan
  for (const one of root.querySelectorAll("[data-choice] button")) one.setAttribute("aria-pressed", String(s.st[one.parentElement.dataset.choice] === one.value))
  button.hidden = !data.scannable || Boolean(data.scan)
  button.disabled = trying
  button.textContent = data.words[trying ? "trying" : "try every head"]
}

const CHIPS = { positions: "positions", registers: "registers", class_token: "class token" }

function chip(s, tokens, one) {
  const button = added(tokens, "button", "chip", s.data.words[CHIPS[one.kind]])
  asSwitch(s, button, one)
}

function cell(s, board, one, parts) {
  const { heads, words } = s.data, button = added(board, "button", "cell", "")
  const column = one.kind === "head" ? one.head + 2 : heads + 3 + parts.indexOf(one.kind)
  Object.assign(button.style, { gridColumn: String(column), gridRow: String(one.layer + 2) })
  if (one.kind !== "head") button.dataset.part = one.kind
  button.setAttribute("aria-label", titleOf(one, words))
  button.tabIndex = -1
  asSwitch(s, button, one)
  button.onkeydown = event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || !event.key.startsWith("Arrow")) return
    const to = ledTo(one, event.key, s.data.components.filter(({ kind }) => !(kind in CHIPS)), heads)
    for (const other of board.querySelectorAll("button")) other.tabIndex = other.dataset.name === to.name ? 0 : -1
    board.querySelector(`[data-name="${to.name}"]`).focus()
    event.preventDefault()
    event.stopPropagation()
  }
}

function asSwitch(s, button, one) {
  button.type = "button"
  button.dataset.name = one.name
  button.setAttribute("role", "switch")
  button.onclick = () => {
    const off = new Set(s.off)
    if (!off.delete(one.name)) off.add(one.name)
    become(s, off)
    point(s, one)
  }
  button.onpointerenter = button.onfocus = () => point(s, one)
  button.onpointerleave = button.onblur = () => point(s, null)
}

export const titleOf = (one, words) => fillIn(words[{ head: "a head", attn: "an attention", mlp: "an mlp" }[one.kind] ?? CHIPS[one.kind]], one)

// Another set is off: shown at once, and Python is told.
function become(s, off) {
  s.off = off
  s.root.classList.add("waiting")
  choose(s, { off: encodeOff(off, s.data.components) }, LATER_MS)
  sayOff(s)
}

function point(s, one) {
  s.pointed = one
  sayPointed(s)
}

function sayPointed(s) {
  const { pointed: one, data: { scan, words } } = s, line = s.root.querySelector(".pointed")
  if (!one) return (line.textContent = words.point)
  const state = words[s.off.has(one.name) ? "is off" : "is on"], title = titleOf(one, words)
  const drop = scan && one.kind === "head" ? fillIn(words["drop of"], { drop: shortNumber(scan.drops[one.layer][one.head]) }) : ""
  line.textContent = `${title}: ${state}${drop}`
}

/** What is off, and where Python has answered to that, the answer. */
export function sayOff(s) {
  const { root, data } = s, { scan } = data
  for (const button of root.querySelectorAll("[role=switch]")) button.setAttribute("aria-checked", String(!s.off.has(button.dataset.name)))
  root.querySelector("[data-act=all]").disabled = !s.off.size
  for (const one of data.components) if (one.kind === "head") colourCell(s, root.querySelector(`.cell[data-name="${one.name}"]`), one)
  for (const part of root.querySelectorAll(".drops, .unit, .named")) part.hidden = !scan
  if (scan) {
    root.querySelector(".low").textContent = `−${scan.scale}`
    root.querySelector(".high").textContent = scan.scale
    root.querySelector(".unit").textContent = scan.unit
    root.querySelector(".named").textContent = scan.told
  }
  sayPointed(s)
  sayChoices(s)
  if (["off", "by", "map"].every(name => data.state[name] === s.st[name])) sayAnswer(s)
}

function colourCell(s, button, one) {
  const { scan } = s.data
  button.replaceChildren()
  button.classList.toggle("strongest", Boolean(scan && scan.strongest === one.name))
  if (!scan) {
    button.style.removeProperty("--fill")
    return button.style.removeProperty("--ink")
  }
  const drop = scan.drops[one.layer][one.head], packed = s.colours.signed[placeOfDrop(drop, scan.top)]
  const rgb = [packed & 255, (packed >> 8) & 255, (packed >> 16) & 255]
  button.style.setProperty("--fill", `rgb(${rgb.join(" ")})`)
  button.style.setProperty("--ink", needsBlack(rgb) ? "#000" : "#fff")
  if (s.data.heads <= 12) added(button, "span", "", shortNumber(drop))
}

function sayAnswer(s) {
  const { root, data } = s
  showChange(root, data)
  root.querySelector(".map-title").textContent = data.map.title
  for (const canvas of root.querySelectorAll("canvas[data-when][role=img]")) canvas.setAttribute("aria-label", `${data.map.title}, ${data.words[canvas.dataset.when]}`)
  root.querySelector(".top").textContent = data.map.scale
}
