// The choices of a question as buttons; A to D and 1 to 4 pick one unless a person writes, and nothing is picked twice.

import { element } from "../elements.js"
import { taken } from "../keys.js"

const LETTERS = "ABCD"
const states = new WeakMap()

export default function ({ data, parentElement, setTriggerValue }) {
  const section = parentElement.querySelector("section")
  const [given, options] = section.children[0].className === "row" ? section.children[0].children : section.children
  if (given.parentElement === section) { // a container cannot ask for its own width
    const row = element("div", "row")
    section.append(row)
    row.append(given, options)
  }
  const s = states.get(parentElement) || {}
  states.set(parentElement, s)
  const known = data.right !== null && data.right !== undefined
  section.classList.toggle("large", data.large)
  options.classList.toggle("words", !data.options[0].picture)
  given.replaceChildren(...data.given.map(picture))
  if (options.childElementCount !== data.options.length || s.name !== data.name)
    options.replaceChildren(...data.options.map(() => element("button")))
  s.name = data.name
  const pick = place => {
    if (!known && place < data.options.length) setTriggerValue("picked", place)
  }
  data.options.forEach((one, i) => {
    const button = options.children[i]
    const right = known && i === data.right
    const wrong = known && i === data.picked && !right
    button.type = "button"
    button.className = right ? "right" : wrong ? "wrong" : ""
    button.setAttribute("aria-disabled", String(known))
    button.setAttribute("aria-pressed", String(i === data.picked))
    const line = element("span", "line")
    line.append(element("b", "", LETTERS[i]), element("span", "", one.words))
    if (right || wrong) {
      const sign = element("span", "sign", right ? "✓" : "✗")
      sign.setAttribute("aria-hidden", "true")
      line.append(sign, element("span", "hidden", data.marks[right ? 0 : 1]))
    }
    button.replaceChildren(...(one.picture ? [picture(one.picture)] : []), line, element("span", "told", one.told))
    button.onclick = () => pick(i)
  })
  const keys = e => {
    if (known || taken(e)) return
    const place = Math.max(LETTERS.indexOf(e.key.toUpperCase()), "1234".indexOf(e.key))
    if (e.key.length !== 1 || place < 0 || place >= data.options.length) return
    e.preventDefault()
    pick(place)
  }
  s.end?.abort() // Streamlit calls this function anew without ending what it did before
  const end = (s.end = new AbortController())
  document.addEventListener("keydown", keys, { signal: end.signal })
  return () => end.abort()
}

function picture(one) {
  const image = element("img", one.photo ? "" : "sharp")
  image.src = one.image
  image.alt = one.alt
  return image
}

