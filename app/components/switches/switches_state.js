// The switches' parts that need no browser: what is off as text, where the arrow keys lead, colours of drops.

import { ARROWS } from "../keys.js"
import { minus } from "../text_formatting.js"

/** @typedef {{ name: string, kind: string, layer: number, head: number }} Switch */

export const BETWEEN = "-"

/** The names that a text holds (`interventions.encode_components`).
 * @param {string} code @returns {Set<string>} */
export const namesOff = code => new Set(code ? code.split(BETWEEN) : [])

/** As text, in the order of all.
 * @param {Set<string>} off @param {Switch[]} all */
export const encodeOff = (off, all) => all.filter(({ name }) => off.has(name)).map(({ name }) => name).join(BETWEEN)

/** Numbers sent as base64 of 32-bit floats.
 * @param {string} text */
export function floatsOf(text) {
  const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0))
  return new Float32Array(bytes.buffer)
}

/** The column of a switch in its layer: heads, then attention, then the MLP.
 * @param {Switch} one @param {number} heads */
export const columnOf = (one, heads) => (one.kind === "head" ? one.head : one.kind === "attn" ? heads : heads + 1)

/** The switch that an arrow key leads to from one of a layer; itself at the rim.
 * @param {Switch} from @param {string} key @param {Switch[]} all @param {number} heads @returns {Switch} */
export function ledTo(from, key, all, heads) {
  const steps = ARROWS[key] ?? [0, 0]
  const wanted = [from.layer + steps[0], columnOf(from, heads) + steps[1]]
  return all.find(one => one.layer === wanted[0] && columnOf(one, heads) === wanted[1]) ?? from
}

/** The place of a drop among 256 colours whose middle is 0.
 * @param {number} drop @param {number} top */
export const placeOfDrop = (drop, top) => Math.max(0, Math.min(255, Math.round(127.5 * (1 + drop / top))))

/** Whether black is easier to read than white on a colour (WCAG's relative luminance).
 * @param {ArrayLike<number>} rgb */
export function needsBlack(rgb) {
  const [r, g, b] = [0, 1, 2].map(i => (rgb[i] / 255 <= 0.04045 ? rgb[i] / 255 / 12.92 : ((rgb[i] / 255 + 0.055) / 1.055) ** 2.4))
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179
}

/** A drop in few letters.
 * @param {number} value */
export const shortNumber = value => (Math.abs(value) < 0.05 ? "0" : minus(value.toFixed(1)))
