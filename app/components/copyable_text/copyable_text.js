// Shows the text, and copies it; where the browser does not let us, marks it to be copied by hand.

import { copyText } from "../clipboard.js"

const timers = new WeakMap()

export default function ({ data, parentElement }) {
  const pre = parentElement.querySelector("pre")
  const output = parentElement.querySelector("output")
  if (pre.textContent !== data.text) {
    pre.textContent = data.text
    output.textContent = ""
  }
  parentElement.querySelector("button").onclick = async () => {
    const done = await copyText(data.text)
    if (!done) {
      getSelection().selectAllChildren(pre)
    }
    output.textContent = done ? data.copied : data.failed
    clearTimeout(timers.get(output))
    if (done) timers.set(output, setTimeout(() => { output.textContent = "" }, 5000))
  }
  return () => clearTimeout(timers.get(output))
}
