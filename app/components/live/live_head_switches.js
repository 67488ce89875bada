// Live's switches of heads: a cell a head, layers side by side; what is off hands nothing to the projection (`switch_off`, "zero").

import { ARROWS, neighbour, taken } from "../keys.js"
import { fillIn } from "../text_formatting.js"
import { changed } from "./live_cover_brush.js"

/** The grid of this model's heads; a head is `layer · heads + head`. @param {any} s */
export function buildHeads(s) {
  const { data: { blocks, heads, words }, root } = s, board = root.querySelector(".board")
  root.querySelector(".heads").hidden = !heads
  const built = JSON.stringify([blocks, heads, words["a head"]])
  if (s.headsBuilt !== built || !board.children.length) {
    s.headsBuilt = built
    board.style.setProperty("--layers", String(blocks))
    const label = (text, column, row) => Object.assign(board.appendChild(document.createElement("span")), { textContent: text }).style.gridArea = `${row} / ${column}`
    board.replaceChildren()
    for (let layer = 0; layer < blocks; layer++) label(String(layer), layer + 2, 1)
    label(fillIn(words.layer, {}), 1, 1)
    for (let head = 0; head < heads; head++) {
      label(fillIn(words.head, { head }), 1, head + 2)
      for (let layer = 0; layer < blocks; layer++) cell(s, board, layer, head)
    }
    board.querySelector("button")?.setAttribute("tabindex", "0")
  }
  root.querySelector("[data-act=on]").onclick = () => switchHeads(s, [...s.off], true)
  showHeads(s)
}

function cell(s, board, layer, head) {
  const { blocks, heads, words } = s.data, button = board.appendChild(document.createElement("button"))
  Object.assign(button, { type: "button", className: "cell", tabIndex: -1, title: fillIn(words["a head"], { layer, head }) })
  button.dataset.head = String(layer * heads + head)
  button.setAttribute("role", "switch")
  button.setAttribute("aria-label", button.title)
  button.style.gridArea = `${head + 2} / ${layer + 2}`
  button.onclick = () => switchHeads(s, [layer * heads + head])
  button.onkeydown = event => {
    const step = ARROWS[event.key]
    if (!step || taken(event)) return
    const to = neighbour(layer * heads + head, [step[1], step[0]], { rows: blocks, cols: heads }) // a layer is a column
    for (const other of board.querySelectorAll("button")) other.tabIndex = other.dataset.head === String(to) ? 0 : -1
    board.querySelector(`[data-head="${to}"]`).focus()
    event.preventDefault()
    event.stopPropagation()
  }
}

/** Each of these heads the other way, or all on. @param {any} s @param {number[]} heads */
export function switchHeads(s, heads, on = false) {
  for (const head of heads) if (!s.off.delete(head) && !on) s.off.add(head)
  showHeads(s)
  changed(s)
}

function showHeads(s) {
  const able = Boolean(s.ready && !s.failed)
  for (const button of s.root.querySelectorAll(".board button")) {
    button.setAttribute("aria-checked", String(!s.off.has(Number(button.dataset.head))))
    button.disabled = !able
  }
  s.root.querySelector("[data-act=on]").disabled = !s.off.size
  s.root.querySelector(".heads .count").textContent = s.off.size ? fillIn(s.data.words["heads off"], { count: s.off.size }) : ""
}
