// The Look page's words: every sentence comes from Python; here numbers and names are filled in.

import { drawBar, even, largest, place } from "../explorer/explorer_attention_bytes.js"
import { outlierSentence } from "../outlier_frames.js"
import { regionSentence } from "../region_selection.js"
import { digits, fillIn, minus, percent } from "../text_formatting.js"
import { numbersOf, painted, ringed } from "./look_map_values.js"

const nameOf = ({ data: { grid, words } }, patch) => {
  if (patch === null) return words.readout
  const [row, col] = place(grid.prefix + patch, grid)
  return fillIn(words.patch, { patch, row, col })
}

// What lies on the photo, and the number that is asked for: of the patch pointed at, or the largest.
export function tell(s, ready) {
  const { data, st } = s, q = q => s.root.querySelector(q)
  q(".layers .all").setAttribute("aria-pressed", String(st.layer === null))
  const scrubber = q(".layers input"), shown = painted(s)
  scrubber.value = st.layer ?? data.blocks - 1
  scrubber.classList.toggle("none", st.layer === null)
  q(".layers output").textContent = st.layer ?? ""
  s.chips.forEach((chip, i) => chip.setAttribute("aria-pressed", String(st.layer !== null && st.head === (i ? i - 1 : null))))
  if (ready) title(s)
  captions(s, shown)
}

function title(s) {
  const { data, what, lit } = s, { words, grid } = data, q = q => s.root.querySelector(q)
  const by = what.head === null || what.head === undefined ? words["mean of heads"] : fillIn(words["one head"], what)
  q(".painted").textContent = data.undefined.rollout ? "" : fillIn(words[`painted ${what.kind}`], { layer: what.layer, by, token: nameOf(s, what.patch ?? null) })
  q(".pointed").textContent = data.undefined.rollout ? "" : value(s)
  const [low, high] = q(".scale").querySelectorAll("span"), signed = what.kind === "position"
  low.textContent = signed ? "−1" : "0"
  high.textContent = signed ? "1" : digits(s.top / even(s))
  const more = !signed && lit[largest(lit, grid.prefix)] > s.top
  q(".scale b").textContent = signed ? words.cosine : words[more ? "times or more" : "times"]
  bar(s, signed)
  const line = q(".outlying"), said = signed || !s.marks ? "" : outlierSentence(s.marks, grid, data.outliers, true)
  line.hidden = !said && !data.outliers.patches.length
  line.style.visibility = said ? "" : "hidden" // it keeps its place, so that pointing moves nothing
  if (said) line.querySelector("span").textContent = said
  s.outlying = said
  line.querySelector("button").setAttribute("aria-pressed", String(!!data.outliers.masked))
  listenTo(s)
}

function value({ hover, what, lit, data, ...s }) {
  const { grid, words } = data
  if (s.region && what.kind !== "position") return regionSentence(lit, grid.prefix, s.region, grid, { even: even({ data }), words })
  const fixed = what.kind === "step" || Boolean(data.values) || (what.kind === "position" && what.patch !== hover)
  const at = hover !== null && fixed ? hover : largest(lit, grid.prefix) - grid.prefix
  const amount = lit[grid.prefix + at], facts = { token: nameOf({ data, ...s }, at) }
  if (what.kind === "position") return hover !== null && fixed ? fillIn(words["here cosine"], { ...facts, value: minus(amount.toFixed(2)) }) : ""
  const key = (hover !== null && fixed ? "here" : "most") + (what.kind === "attention" ? " to" : "")
  const said = fillIn(words[key], { ...facts, ...shares(amount, data) })
  const circle = ringed(what, data) ? words.circle : ""
  return [said, circle, given({ what, lit, data, ...s })].filter(Boolean).join("\n") // one subject a line, that of the title first
}

const shares = (amount, data) => ({ percent: percent(amount), times: digits(amount / even({ data })) })

// What a patch whose own rollout is shown gives to where the answer is read, once that rollout has come.
function given({ what, lit, data, ...s }) {
  const { grid, words } = data, ofAnswer = new Float32Array(lit.length)
  if (what.kind !== "rollout" || what.patch === null || !numbersOf({ data, ...s }, { kind: "rollout", patch: null }, ofAnswer)) return ""
  const token = nameOf({ data }, what.patch), facts = { readout: words.readout, ...shares(ofAnswer[grid.prefix + what.patch], data) }
  return fillIn(words.gives, { token: token[0].toUpperCase() + token.slice(1), ...facts })
}

function bar(s, signed) {
  if (s.barOf === signed) return
  s.barOf = signed
  drawBar(s.root.querySelector(".scale canvas"), s.colours[signed ? "signedBar" : "bar"])
}

function captions(s, shown) {
  const { data } = s, { words, grid } = data
  const put = (name, text) => !data.undefined[name] && (s.root.querySelector(`section.${name} .caption`).textContent = text && text[0].toUpperCase() + text.slice(1))
  const [high, wide] = grid.step, patch = s.patch ?? data.middle
  const facts = { token: nameOf(s, patch), patch, high, wide, count: 3 * high * wide, dims: data.embedding?.dims }
  put("patches", data.embedding ? [fillIn(words["patches caption"], facts), data.sequence].join(" ") : "")
  put("filters", data.filters?.parts ? fillIn(words["filters caption"], facts) : "")
  put("positions", fillIn(words["positions caption"], { patch: s.over?.position ?? patch }))
  if (data.distance) {
    const one = shown.kind === "attention" && shown.head !== null ? data.distance.px[shown.layer][shown.head] : null
    const hollow = data.distance.prefix?.flat().some(share => share >= 0.5)
    put("distance", one === null
      ? [fillIn(words["distance caption"], { px: Math.round(data.distance.uniform) }), hollow ? words["distance hollow"] : ""].filter(Boolean).join(" ")
      : fillIn(words["distance one"], { ...shown, px: one.toFixed(1), times: digits(one / data.distance.uniform) }))
  }
  const step = s.step ?? data.blocks - 1, slider = s.root.querySelector(".rollout input")
  put("rollout", fillIn(words["rollout caption"], { layer: step }))
  slider.value = String(step)
  s.root.querySelector(".rollout output").textContent = String(step)
  const play = s.root.querySelector(".play")
  play.textContent = s.playing ? "■ " + words.stop : "▶ " + words.play
}

// For those who listen: after a choice has come to rest.
function listenTo(s) {
  const q = q => s.root.querySelector(q).textContent, words = [q(".painted"), q(".pointed"), s.outlying].filter(Boolean).join(" ")
  if (s.hover !== null || s.over || s.playing || words === s.heard) return
  clearTimeout(s.saying)
  s.saying = setTimeout(() => (s.root.querySelector(".said").textContent = s.heard = words), 600)
}
