// Numbers and sentences as components write them; the sentences themselves come from Python.

/** @param {string} text @param {Record<string, any>} facts */
export const fillIn = (text, facts) => text.replace(/\{(\w+)\}/g, (_, key) => facts[key] ?? "")
/** @param {number} value @param {number} count */
export const clamp = (value, count) => Math.max(0, Math.min(count - 1, value))
/** @param {number} value */
export const digits = value => Number(value.toPrecision(2)).toString()
/** @param {number} value */
export const percent = value => digits(100 * value) + " %"
