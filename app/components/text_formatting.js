// Numbers and sentences as components write them; the sentences themselves come from Python.

const LETTER_BESIDE_CHINESE = /(?<=[A-Za-z])(?=\p{Script=Han})|(?<=\p{Script=Han})(?=[A-Za-z])/gu // a space parts them

/** A number and its percent sign stay on one line. @param {string} text */
export const keepPercent = text => text.replace(/(?<=^|\d) (?=%)/g, "\u00a0")
/** @param {string} text @param {Record<string, any>} facts */
export const fillIn = (text, facts) => keepPercent(text.replace(/\{(\w+)\}/g, (_, key) => facts[key] ?? "").replace(LETTER_BESIDE_CHINESE, " "))
/** @param {number} value @param {number} count */
export const clamp = (value, count) => Math.max(0, Math.min(count - 1, value))
/** @param {number} value */
export const digits = value => minus(Number(value.toPrecision(2)))
/** A number with the minus sign of print, as `vitcore.translation.decimal` writes it. @param {number | string} written */
export const minus = written => String(written).replace(/-(?=[\d.])/g, "−")
/** @param {number} value */
export const percent = value => digits(100 * value) + "\u00a0%"
