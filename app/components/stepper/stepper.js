// The stepper: buttons for the steps, before and after; arrow keys, Home and End turn the page unless something else needs them.

import { needed, taken } from "../keys.js"

const states = new WeakMap()

export default function ({ data, parentElement, setTriggerValue }) {
  const nav = parentElement.querySelector("nav")
  const [before, after] = nav.querySelectorAll(".turn")
  const list = nav.querySelector("ol")
  const s = states.get(parentElement) || {}
  states.set(parentElement, s)
  if (s.shown && s.shown !== data.step) { // from the end of a step: to the beginning of the next
    const bar = parentElement.host
    if (bar.closest(":st(bottom)")) document.querySelector(":st(main)").scrollTo(0, 0)
    else if (bar.getBoundingClientRect().top < 0) {
      bar.style.scrollMarginTop = "4.5rem" // Streamlit's bar
      bar.scrollIntoView({ block: "start" })
    }
  }
  s.shown = data.step
  s.step = data.step // what Python shows; while it is busy, keys count on from where they wanted to go
  nav.style.setProperty("--count", data.names.length)
  nav.classList.toggle("titled", data.titled)

  const go = step => {
    const to = Math.max(1, Math.min(data.names.length, step))
    if (to === s.step) return
    s.step = to
    mark(list, to)
    setTriggerValue("to", to)
  }
  if (list.childElementCount !== data.names.length) list.replaceChildren(...data.names.map(item))
  data.names.forEach((name, i) => {
    const button = list.children[i].firstChild
    button.lastChild.textContent = name
    button.setAttribute("aria-label", data.spoken[i])
    button.title = name
    button.onclick = () => go(i + 1)
  })
  turn(before, data.step === 1, () => go(s.step - 1))
  turn(after, data.step === data.names.length, () => go(s.step + 1))
  mark(list, data.step)
  const said = nav.querySelector("p")
  if (said.textContent !== data.spoken[data.step - 1]) said.textContent = data.spoken[data.step - 1]

  const keys = e => {
    if (needed(e)) return
    const wanted = { ArrowLeft: s.step - 1, ArrowRight: s.step + 1, Home: 1, End: data.names.length }
    if (!(e.key in wanted)) return
    e.preventDefault()
    go(wanted[e.key])
  }
  // A clicker's keys, heard before page_style.js: past the first or last step they are its, and turn the page.
  const clicks = e => {
    const wanted = s.step + ({ PageUp: -1, PageDown: 1 }[e.key] || 0)
    if (!data.clicker || wanted === s.step || wanted < 1 || wanted > data.names.length) return
    if (taken(e)) return
    e.preventDefault()
    e.stopPropagation()
    go(wanted)
  }
  s.end?.abort() // Streamlit calls this function anew without ending what it did before
  const end = (s.end = new AbortController())
  document.addEventListener("keydown", keys, { signal: end.signal })
  document.addEventListener("keydown", clicks, { signal: end.signal, capture: true })
  return () => end.abort()
}

function item(_, i) {
  const li = document.createElement("li"), button = document.createElement("button")
  const [number, name] = [0, 1].map(() => document.createElement("span"))
  button.type = "button"
  number.className = "number"
  number.textContent = String(i + 1)
  name.className = "name"
  button.append(number, name)
  li.append(button)
  return li
}

function mark(list, step) {
  ;[...list.children].forEach((li, i) => {
    li.classList.toggle("done", i < step)
    if (i + 1 === step) li.firstChild.setAttribute("aria-current", "step")
    else li.firstChild.removeAttribute("aria-current")
  })
}

function turn(button, off, act) {
  button.disabled = off
  button.onclick = act
}
