// Elements of HTML, made in one call.

/** @param {string} tag @param {string} name its class @param {string} words @returns {any} */
export function element(tag, name = "", words = "") {
  return Object.assign(document.createElement(tag), name && { className: name }, { textContent: words })
}

/** An element with these properties, put last into another.
 * @param {string} tag @param {Element | DocumentFragment} into @param {Record<string, any>} facts @returns {any} */
export function make(tag, into, facts = {}) {
  const made = Object.assign(document.createElement(tag), facts)
  into.append(made)
  return made
}
