// What an intervention changed: the classes before and after, a sentence, and outlier tokens where they mislead.

import { fillIn } from "../text_formatting.js"

export function showChange(root, data) {
  root.classList.remove("waiting")
  root.querySelector(".answer").replaceChildren(...data.answer.map(row => {
    const item = document.createElement("li")
    for (const [tag, words] of [["span", row.label], ["b", row.before], ["b", row.after]]) item.append(Object.assign(document.createElement(tag), { textContent: words }))
    item.style.setProperty("--before", row.shares[0])
    item.style.setProperty("--after", row.shares[1])
    item.setAttribute("aria-label", fillIn(data.words.row, row))
    return item
  }))
  root.querySelector(".told").textContent = data.told
  const outlying = root.querySelector(".outlying")
  outlying.textContent = data.outlying
  outlying.hidden = !data.outlying
}
