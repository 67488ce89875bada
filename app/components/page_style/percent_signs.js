// A number and its percent sign stay on one line, in every language and whoever wrote them.

import { keepPercent } from "../text_formatting.js"

/** In a node and all below it, text of programs apart. @param {Node} top */
export function keepPercentSigns(top) {
  const texts = document.createTreeWalker(top, NodeFilter.SHOW_TEXT)
  for (let text = top.nodeType === Node.TEXT_NODE ? top : texts.nextNode(); text; text = texts.nextNode()) {
    const kept = keepPercent(text.nodeValue) // a number may be a node of its own, in bold
    if (kept !== text.nodeValue && !text.parentElement?.closest("code, pre, textarea, style, script")) text.nodeValue = kept
  }
}
