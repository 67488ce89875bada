// The words of the page Tokens: every sentence comes from Python; here numbers and names are filled in.

import { outlierSentence } from "../outlier_frames.js"
import { fillIn, minus, percent } from "../text_formatting.js"

const called = ({ data: { grid, words } }, patch) => fillIn(words.patch, { patch, row: Math.floor(patch / grid.cols), col: patch % grid.cols })

export function tellTokens(s, at, match) {
  const { data, st } = s, { words } = data, q = q => s.root.querySelector(q)
  const view = fillIn(words[data.cut && st.view === "segments" ? "title cut" : `title ${st.view}`], { layer: st.layer })
  const similar = at && fillIn(words["title similar"], { token: called(s, at.patch) })
  for (const photo of [0, 1]) put(q(`.photo${photo} h3`), at && at.photo !== photo && s.lit ? similar : photo ? data.second : view)
  put(q(".strip h3"), fillIn(words["title strip"], { token: called(s, at ? at.patch : data.middle) }))
  put(q(".told"), at ? matched(s, match) : resting(s))
  const [low, high] = q(".scale").querySelectorAll("span")
  if (s.lit) [low, high].forEach((span, i) => put(span, minus(s.lit[i].toFixed(2))))
  listenToTokens(s)
}

// How much of the variance the colours show; and where outlier tokens hold most of it, that they are what is seen.
function resting({ data: { words, shares, outlier_shares: outlying }, st: { layer, view } }) {
  const facts = { layer, share: percent(shares[layer]), outlying: percent(outlying[layer] ?? 0) }
  const seen = view === "colours" ? fillIn(words.rest, facts) : ""
  const warned = outlying[layer] >= 0.5 && view !== "segments" ? fillIn(words["rest outliers"], facts) : ""
  return seen && warned ? fillIn(words["two sentences"], { first: seen, second: warned }) : seen || warned
}

function matched(s, match) {
  const { words } = s.data
  if (!match) return ""
  const best = fillIn(words[match.mutual ? "best mutual" : "best"], { token: called(s, match.best), cosine: minus(match.cosine.toFixed(2)) })
  if (match.next < 0) return best
  return fillIn(words["two sentences"], { first: best, second: fillIn(words["runner-up"], { token: called(s, match.next), cosine: minus(match.nextCosine.toFixed(2)) }) })
}

function put(element, text) {
  if (element.textContent !== text) element.textContent = text
}

// What changes with a choice alone.
export function label(s) {
  const { st, data } = s, q = q => s.root.querySelector(q)
  for (const tile of s.root.querySelectorAll(".views .tile")) tile.setAttribute("aria-pressed", String(tile.dataset.view === st.view))
  q(".joins").setAttribute("aria-pressed", String(Boolean(st.lines)))
  q(".threshold input").disabled = st.view !== "foreground"
  q(".threshold input").value = st.threshold
  q(".threshold output").textContent = minus(st.threshold.toFixed(1))
  s.tiles.forEach(({ button }, layer) => button.setAttribute("aria-pressed", String(layer === st.layer)))
  const play = q(".play")
  play.setAttribute("aria-pressed", String(Boolean(s.playing)))
  play.textContent = s.playing ? "■ " + data.words.stop : "▶ " + data.words.play
  const said = outlierSentence(data.unmasked[0], data.grid, data.outliers, false)
  q(".outlying").hidden = !said
  put(q(".outlying span"), said)
  q(".mask").setAttribute("aria-pressed", String(Boolean(data.outliers.masked)))
}

// For those who listen: after a choice has come to rest.
function listenToTokens(s) {
  const words = [".photo1 h3", ".told"].map(q => s.root.querySelector(q).textContent).join(". ")
  if (s.hover || s.playing || words === s.heard) return
  clearTimeout(s.saying)
  s.saying = setTimeout(() => (s.root.querySelector(".said").textContent = s.heard = words), 600)
}
