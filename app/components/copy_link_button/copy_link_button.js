// Copies the address of the page as it is now; where the browser does not let us, shows it to be copied by hand. What it says goes
// after a while if it is short, else when something else is touched, or with Escape.

import { copyText } from "../clipboard.js"

const BRIEF_MS = 5000, EDGE_PX = 16
const states = new WeakMap()

export default function ({ data, parentElement }) {
  const button = parentElement.querySelector("button")
  const output = parentElement.querySelector("output")
  const field = parentElement.querySelector("input")
  const of = `${data.place} ${data.note}`
  const hush = () => {
    output.textContent = ""
    field.hidden = true
  }
  if (output.dataset.of !== of) { // another page, photo or model: what was said is old news
    hush()
    output.dataset.of = of
  }
  states.get(button)?.end.abort() // Streamlit calls this function anew without ending what it did before
  const s = { timer: states.get(button)?.timer, end: new AbortController() }
  states.set(button, s)
  const elsewhere = event => event.composedPath().includes(button.parentElement) || hush()
  document.addEventListener("pointerdown", elsewhere, { signal: s.end.signal })
  button.parentElement.addEventListener("keydown", event => event.key === "Escape" && hush(), { signal: s.end.signal })
  button.onclick = async () => {
    const address = plain(new URL(window.location.href), data.ids)
    const done = await copyText(address)
    field.value = address
    field.hidden = done
    output.textContent = [done ? data.copied : data.failed, data.note].filter(Boolean).join(" ")
    intoThePage(output.parentElement)
    if (!done) { field.focus(); field.select() }
    clearTimeout(s.timer)
    if (done && !data.note) s.timer = setTimeout(hush, BRIEF_MS)
  }
  return () => {
    clearTimeout(s.timer)
    s.end.abort()
  }
}

// Below the button, and no further to the right than the page goes.
function intoThePage(said) {
  said.style.left = "0"
  const over = said.getBoundingClientRect().right - (document.documentElement.clientWidth - EDGE_PX)
  if (over > 0) said.style.left = `${-over}px`
}

// The same link in every language: a photo by its id. Light or dark is said where it is not what the screen asks for.
function plain(url, ids) {
  const { mode } = document.documentElement.dataset
  if (mode !== (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) url.searchParams.set("theme", mode)
  for (const key of ["photo", "scene"]) {
    const id = ids[url.searchParams.get(key)]
    if (id) url.searchParams.set(key, id)
  }
  return url.href
}
