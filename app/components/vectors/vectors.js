// Vectors as rows of little bars: what enters, what each part makes of it, what is added to the stream.

import { element } from "../elements.js"
import { minus } from "../text_formatting.js"

const NS = "http://www.w3.org/2000/svg"

export default function ({ data, parentElement }) {
  const list = parentElement.querySelector("ol")
  list.setAttribute("aria-label", data.label)
  list.className = data.flat ? "flat" : ""
  list.replaceChildren(...data.rows.map(row))
}

function row(r) {
  const li = element("li", r.kind)
  const rail = element("span", "rail")
  if (r.sign !== undefined) rail.append(element("b", "", r.sign))
  rail.setAttribute("aria-hidden", "true")
  const what = element("span", "what", r.name)
  if (r.formula) what.append(formula(r.formula))
  const size = element("span", "size")
  if (r.size) size.append(element("strong", "", r.size))
  size.append(r.unit || "")
  li.append(rail, what, r.looks ? looks(r.looks) : bars(r), size)
  return li
}

// "q_{h}" and "z′^{p}" become a subscript and a superscript; "\rm{LN}" stands upright.
function formula(words) {
  const made = element("span", "formula")
  for (const part of words.split(/([_^]\{[^}]*\}|\\rm\{[^}]*\})/)) {
    if (part[0] === "_" || part[0] === "^") made.append(element(part[0] === "_" ? "sub" : "sup", "", part.slice(2, -1)))
    else if (part.startsWith("\\rm{")) made.append(element("span", "up", part.slice(4, -1)))
    else made.append(part)
  }
  return made
}

function bars(r) {
  const box = element("div", "picture")
  const svg = document.createElementNS(NS, "svg")
  const count = r.values.length
  const most = Math.max(...r.values.map(Math.abs)) || 1
  set(svg, { viewBox: `0 -17 ${count * 10} 34`, preserveAspectRatio: "none", role: "img", "aria-label": r.alt })
  r.values.forEach((value, i) => {
    const high = Math.max(Math.abs(value) / most * 16, 0.4)
    const bar = document.createElementNS(NS, "rect")
    set(bar, { x: i * 10 + 1, width: 8, y: value < 0 ? 0 : -high, height: high, class: value < 0 ? "down-bar" : "up-bar" })
    const title = document.createElementNS(NS, "title")
    title.textContent = `${i}: ${minus(value)}`
    bar.append(title)
    svg.append(bar)
  })
  const axis = document.createElementNS(NS, "line")
  set(axis, { x1: 0, x2: count * 10, y1: 0, y2: 0 })
  svg.append(axis)
  box.append(svg, element("div", "numbers", r.numbers))
  return box
}

function looks(shown) {
  const box = element("div", "picture looks")
  for (const one of shown) {
    const figure = element("figure")
    const image = one.image ? element("img") : element("i", "", one.sign)
    if (one.image) Object.assign(image, { src: one.image, alt: "" })
    figure.append(image, element("strong", "", one.weight), one.name)
    box.append(figure)
  }
  return box
}

function set(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
}
