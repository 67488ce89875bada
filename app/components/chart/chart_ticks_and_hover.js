// Numbers as a chart writes them: where an axis has its ticks and what they say, what a point says when pointed at.

import { minus } from "../text_formatting.js"

/** Where an axis has its ticks, near `most` of them, and what stands there.
 * @param {any} axis @param {number} most @returns {{ value: number, label: string }[]} */
export function ticksOf(axis, most) {
  if (axis.visible === false) return []
  if (axis.tickvals) return axis.tickvals.map((value, i) => ({ value, label: axis.ticktext?.[i] ?? minus(value) }))
  const [low, high] = axis.range[0] < axis.range[1] ? axis.range : [axis.range[1], axis.range[0]]
  if (axis.type === "log") {
    const ticks = []
    for (let e = Math.ceil(low); e <= Math.floor(high); e++) ticks.push({ value: 10 ** e, label: short(10 ** e) })
    return ticks
  }
  let step = axis.dtick || nice((high - low) / Math.max(2, most))
  while (axis.dtick && (high - low) / step > 2 * Math.max(1, most)) step *= 2
  const ticks = []
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9; k++) ticks.push({ value: k * step, label: short(k * step) })
  return ticks
}

function nice(step) {
  const power = 10 ** Math.floor(Math.log10(step))
  return power * [1, 2, 5, 10].find(m => m * power >= step)
}

const short = v => minus(Math.abs(v) >= 10000 ? `${+(v / 1000).toPrecision(3)}k`
  : v && Math.abs(v) < 0.01 ? (+v.toPrecision(3)).toExponential() : +v.toPrecision(6))

// What a point says of itself: Plotly's template, `%{x:.2f}`, with its numbers.
export const fillHover = (template, x, y) => template.replace(/<br>/g, " · ").replace(/%\{([xy])(?::\.(\d+)f|:,)?\}/g, (_, name, digits) => {
  const value = name === "x" ? x : y
  return minus(digits === undefined ? value.toLocaleString("en", { maximumSignificantDigits: 6 }) : value.toFixed(digits))
})
