// The explorer's words: every sentence comes from Python; here the facts are filled in.

import { digits, fillIn, percent } from "../text_formatting.js"
import { outlierSentence } from "../outlier_frames.js"
import { regionSentence } from "../region_selection.js"
import { DECADES, answering, chosen, even, largest, least, place, read, standingOut } from "./explorer_attention_bytes.js"

const POINTS = matchMedia("(hover: hover)").matches // else nothing is pointed at before it is touched

// A token as a sentence has it: "the class token"; on a button its name stands alone.
export function nameOf(s, token) {
  const { grid, spoken, words } = s.data
  if (token < grid.prefix) return spoken[token]
  const [row, col] = place(token, grid)
  return fillIn(words.patch, { patch: token - grid.prefix, row, col })
}


// What changes with every touch: titles, the largest weight, the value under the pointer, the scales.
export function tell(s) {
  const { data, st, shown, lit } = s
  const { words, grid } = data
  const q = q => s.root.querySelector(q)
  const token = nameOf(s, shown[0])
  const asked = s.comparing ? words["compare now"] : title(s, token)
  q(".look h3").textContent = s.hover === null || st.rolled ? asked : title(s, fillIn(words.under, { token }))
  const most = largest(lit, grid.prefix)
  const times = value => digits(value / even(s))
  const facts = { most: nameOf(s, most), percent: percent(lit[most]), times: times(lit[most]), token, even: percent(even(s)) }
  q(".most").textContent = s.region ? regionSentence(lit, grid.prefix, s.region, grid, { even: even(s), mean: st.column, words }) : [fillIn(words[st.rolled ? "most rollout" : st.column ? "most column" : "most"], facts), ofSecond(s)].join(" ")
  outlying(s)
  q(".pointed").textContent = pointed(s) || `${POINTS ? words.point : ""} ${words[data.style === "light" ? "no scale" : "hold"]}`
  s.tiles.forEach(({ value, button }, token) => {
    value.textContent = percent(lit[token])
    button.style.backgroundSize = `${Math.round(100 * Math.min(1, lit[token]))}% 100%`
  })
  q(".look .scale b").textContent = fillIn(words[lit[most] > s.top ? "times or more" : "times"], { what: words[st.rolled ? "rollout weight" : "weight"], ...facts })
  const [low, high] = q(".look .scale").querySelectorAll("span")
  low.textContent = data.log ? times(s.top / 10 ** DECADES) : "0"
  high.textContent = times(s.top)
  const [from, to] = q(".all .scale").querySelectorAll("span")
  const top = Math.max(least(s), ...s.values.flat().map(row => row[largest(row, grid.prefix)]))
  from.textContent = data.shared ? (data.log ? times(top / 10 ** DECADES) : "0") : data.log ? words["a thousandth"] : "0"
  to.textContent = data.shared ? times(top) : words["own maximum"]
  q(".all .scale b").textContent = data.shared ? fillIn(words.times, { what: words.weight, ...facts }) : ""
  s.cards.forEach((card, head) => {
    const row = s.values[0][head]
    const value = row[largest(row, grid.prefix)]
    const marks = standingOut(row, grid.prefix, data.outliers).length
    const most = fillIn(words.largest, { percent: percent(value), times: times(value) })
    card.top.textContent = marks ? `${most}\n${data.outliers.counted[marks - 1]}` : most
  })
  q(".one-head").textContent = ofOneHead(s)
}

// What is known of the head that is pointed at or chosen, where there are so many that their cards have no room for words.
function ofOneHead(s) {
  const { st, data } = s
  const head = s.peek?.head ?? (st.rolled ? null : st.head)
  if (head === null || !s.root.classList.contains("many")) return ""
  const { top, word, facts } = s.cards[head]
  return [fillIn(data.words.head, { head }), top, word, facts].map(one => one.textContent ?? one).join(" · ").replaceAll("\n", " · ")
}

// Which outlier tokens hold much of what lights the photo, or that they are masked; and the switch beside it.
function outlying(s) {
  const { outliers, grid } = s.data
  const line = s.root.querySelector(".outlying")
  const said = outlierSentence(s.marks, grid, outliers, !s.st.column)
  line.hidden = !said
  line.querySelector("span").textContent = said
  line.querySelector("button").setAttribute("aria-pressed", String(!!outliers.masked))
}

export function title(s, token) {
  const { words } = s.data
  const { rolled, column } = s.st
  return `${fillIn(words[(rolled ? "rolled " : "asks ") + (column ? "column" : "row")], { token })} · ${by(s)}`
}

// What the second token looks at most, as the first one's sentence says it.
function ofSecond(s) {
  const { st, data, shown, values } = s
  if (st.second === null || st.rolled || !values[1]) return ""
  const weights = chosen(values[1], st.head, new Float32Array(values[1][0].length))
  const most = largest(weights, data.grid.prefix)
  return fillIn(data.words[st.column ? "second column" : "second row"], { token: nameOf(s, shown[1]), most: nameOf(s, most), percent: percent(weights[most]) })
}

// Which attention it is: of a head, of the mean of all, or carried through all layers.
function by(s) {
  const { words, heads } = s.data
  const { rolled, head, block } = s.st
  return rolled ? words["all layers"] : fillIn(head === null ? words["mean of heads"] : words["one head"], { head, heads, block })
}

// The value under the pointer: of a small map, or what the pinned token gives to the patch pointed at.
export function pointed(s) {
  const { st, data, peek } = s
  const { words, grid } = data
  let from, to, value, more
  if (peek) {
    ;[from, to] = [s.shown[peek.which], peek.token]
    value = s.values[peek.which]?.[peek.head]?.[to]
    more = fillIn(words["one head"], { head: peek.head, block: st.block })
  } else if (s.hover !== null) {
    const { map } = s
    ;[from, to] = [answering(map, st.token), s.hover]
    const { rolled } = s
    const of = rolled ? [0] : st.head !== null ? [st.head] : [...Array(data.heads).keys()]
    value = of.reduce((sum, head) => sum + read(rolled || map, head, from, st.column, s.table, s.scratch)[to], 0) / of.length
    more = by(s)
  }
  if (value === undefined) return ""
  const tokens = grid.prefix + grid.rows * grid.cols
  const facts = { weight: digits(value), percent: percent(value), times: digits(value * tokens), more }
  const pinned = from === st.token ? fillIn(words.pinned, { token: nameOf(s, from) }) : nameOf(s, from)
  const [giver, taker] = st.column ? [nameOf(s, to), pinned] : [pinned, nameOf(s, to)]
  return fillIn(words.value, { ...facts, from: giver, to: taker })
}

// For those who listen: after a choice has come to rest.
export function say(s) {
  clearTimeout(s.saying)
  s.saying = setTimeout(() => {
    const q = q => s.root.querySelector(q).textContent
    const found = [q(".outlying span"), q(".most")].filter(Boolean).join(" ")
    q(".look h3") && (s.root.querySelector(".said").textContent = `${q(".look h3")}. ${found}`)
  }, 400)
}

// A head in words: what it is called, its numbers, and the rule that gave the name.
export function headline(s, head) {
  const { words, rules, names, grid, share_names: shared, most_bits: most } = s.data
  const word = head.words.map(w => fillIn(words["word " + w], { token: names[head.sink] ?? "" })).join(", ")
  const spread = fillIn(words.facts, { spread: head.spread, tokens: grid.prefix + grid.rows * grid.cols })
  const named = head.shares.map((share, i) => [shared[i], share]).concat(head.outlying === null ? [] : [[words["outlier tokens"], head.outlying]])
  const shares = named.map(([token, share]) => fillIn(words.share, { token, share: (share > 0 && share < 1 ? "< 1" : share) + " %" }))
  const why = head.words.map(w => rules[w].join(": ")).join("\n")
  const measured = fillIn(words.measured, { bits: head.bits.toFixed(1), most: most.toFixed(1), part: Math.round((100 * head.bits) / most) + " %", reach: head.reach + " %", offset: head.offset + " %" })
  return { word, facts: [spread, fillIn(words.far, { px: head.px }), ...shares].join("\n"), rule: `${why}\n${measured}` }
}

// What a choice changes: names, cards, pressed buttons, the layer strip.
export function label(s) {
  const { data, st } = s
  const { words } = data
  const cards = data.cards[st.block] || []
  s.root.querySelector(".all h3").textContent = fillIn(words[st.rolled ? "cards rolled" : "cards"], { block: st.block, heads: data.heads })
  s.cards.forEach((card, head) => {
    const facts = cards[head] && headline(s, cards[head])
    card.button.setAttribute("aria-pressed", String(!st.rolled && st.head === head))
    card.word.textContent = facts ? fillIn(words["over all"], { word: facts.word }) : "…"
    card.facts.textContent = facts ? facts.facts : ""
    card.button.title = facts ? `${facts.word}\n${facts.rule}` : ""
  })
  s.tiles.forEach(({ button }, token) => {
    button.setAttribute("aria-pressed", String(st.token === token || st.second === token))
  })
  s.root.querySelector(".compare").setAttribute("aria-pressed", String(!!s.comparing))
  s.root.classList.toggle("second", st.second !== null)
  s.atlas.forEach(row => row.forEach(cell => {
    const here = cell.block === st.block && (cell.head === st.head || !data.atlas.whole)
    cell.button.setAttribute("aria-pressed", String(here))
    cell.button.tabIndex = cell === s.roving ? 0 : -1
    cell.button.classList.toggle("row", cell.block === st.block)
  }))
}
