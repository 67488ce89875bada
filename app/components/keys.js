// Which keys a page may take for its own, and where the arrow keys lead.

import { clamp } from "./text_formatting.js"

/** How many rows down and columns to the right each leads. @type {Record<string, number[]>} */
export const ARROWS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }

/** The patch that a step leads to; at the rim of the grid it goes no further.
 * @param {number} patch @param {number[]} step @param {{ rows: number, cols: number }} grid */
export const neighbour = (patch, [down, right], { rows, cols }) =>
  clamp(Math.floor(patch / cols) + down, rows) * cols + clamp((patch % cols) + right, cols)

const OPEN = ":st(popover-body), [role=dialog], [role=listbox], [role=menu]" // Escape closes these, not a lecture
const TEXT = "input:not([type=range], [type=checkbox], [type=radio], [role=combobox]), textarea, [contenteditable=true]"
const MOVED = "input, textarea, select, canvas, video, [contenteditable=true], [role=slider], [role=radio], [role=tab], " +
  "[role=option], [role=menuitem], [role=combobox], [role=spinbutton], [role=application], [role=dialog], [role=listbox]"

// Somebody writes, something open wants the key, another has had it, or it is a shortcut of the browser's.
export function taken(event) {
  return event.shiftKey || wanted(event, TEXT)
}

// The same for a sign that is asked for with Shift, and typed into a menu, too.
export const typed = event => wanted(event, `${TEXT}, [role=combobox]`)

/** @param {any} event @param {string} fields those that are written in */
function wanted(event, fields) {
  if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return true
  return Boolean(event.composedPath()[0].matches?.(fields) || document.querySelector(OPEN))
}

// The same for a key that moves something: what has the focus may be moved by it itself.
export function needed(event) {
  return taken(event) || event.composedPath().some(node => node.matches?.(MOVED))
}
