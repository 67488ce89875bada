// The explorer's parts, made once for a model, and what they do when touched: by mouse, by keys, by a finger.

import { decodeTable, palettes, smallMap } from "./explorer_attention_bytes.js"
import { make } from "../elements.js"
import { choose, commit } from "../pending_choices.js"
import { clamp, fillIn } from "../text_formatting.js"
import { ARROWS, neighbour } from "../keys.js"
import { label, say } from "./explorer_sentences.js"
import { mapFor, prefetch, schedule } from "./explorer_draw.js"
import { holding, placeOf } from "../heat_overlay.js"
import { listenRegion } from "../region_selection.js"

// Cards, tiles and the strip for this many heads, blocks and prefix tokens.
export function build(s) {
  s.fitRegion()
  const { data, root } = s
  const { grid, heads, names } = data
  const tokens = grid.prefix + grid.rows * grid.cols
  s.table = decodeTable(data.span)
  s.colours = palettes(data.colours)
  s.buffers = [0, 1].map(() => Array.from({ length: heads }, () => new Float32Array(tokens)))
  s.lit = new Float32Array(tokens)
  s.scratch = new Float32Array(tokens)
  s.small = smallMap(grid.rows, grid.cols)
  s.over = root.querySelector(".lit").getContext("2d")
  root.style.setProperty("--ratio", String((grid.cols * grid.step[1]) / (grid.rows * grid.step[0])))
  const tiles = root.querySelector(".tiles")
  tiles.replaceChildren()
  s.tiles = names.map((name, token) => {
    const button = make("button", tiles, { type: "button", className: "tile", textContent: name + " " })
    return { button, value: make("b", button), token }
  })
  const cards = root.querySelector(".cards")
  if (s.cards) s.observer.unobserve(s.cards[0].maps[0].canvas)
  cards.replaceChildren()
  s.cards = Array.from({ length: heads }, (_, head) => card(s, cards, head))
  s.observer.observe(s.cards[0].maps[0].canvas)
  buildAtlas(s)
  wording(s)
}

function card(s, into, head) {
  const { grid, words } = s.data
  const button = make("button", into, { type: "button", className: "card" })
  const pair = make("span", button, { className: "pair" })
  const maps = [0, 1].map(i => {
    const canvas = make("canvas", pair, { className: `map${i}` })
    return canvas.getContext("2d")
  })
  const name = make("span", button, { className: "name" })
  make("strong", name, { textContent: fillIn(words.head, { head }) + " " })
  const top = make("small", button, { className: "largest" })
  const word = make("em", button)
  const facts = make("small", button)
  button.onclick = () => change(s, { head: s.st.head === head && !s.st.rolled ? null : head, rolled: false })
  maps.forEach(({ canvas }, which) => {
    canvas.onpointermove = e => {
      const box = canvas.getBoundingClientRect()
      const row = clamp(Math.floor(((e.clientY - box.top) / box.height) * grid.rows), grid.rows)
      const col = clamp(Math.floor(((e.clientX - box.left) / box.width) * grid.cols), grid.cols)
      s.peek = { head, which, token: grid.prefix + row * grid.cols + col }
      schedule(s)
    }
    canvas.onpointerleave = () => { s.peek = null; schedule(s) }
  })
  return { button, maps, word, top, facts }
}

// The words that stay, besides the names in the HTML: the legends of keys and of rules.
function wording(s) {
  const { data, root } = s
  const { words } = data
  const q = q => root.querySelector(q)
  q("img").alt = words.photo
  q(".coarse").textContent = data.coarse || ""
  for (const [where, rows] of [[".rules dl", Object.values(data.rules)], [".keys dl", data.keys]]) {
    q(where).replaceChildren()
    for (const [name, text] of rows) {
      make("dt", q(where), { textContent: name })
      make("dd", q(where), { textContent: text })
    }
  }
}

// The strip: one column a layer, one row a head

function buildAtlas(s) {
  const { atlas, words, maps } = s.data
  const into = s.root.querySelector(".atlas")
  into.replaceChildren()
  into.style.setProperty("--layers", maps.length)
  into.style.setProperty("--heads", atlas.heads)
  const put = (element, row, col) => Object.assign(element.style, { gridRow: row, gridColumn: col })
  const soft = (textContent, row, col) => put(make("span", into, { className: "soft", textContent }), row, col)
  soft(words.layer, 1, 1)
  maps.forEach((_, block) => soft(block, 1, block + 2))
  // all thumbnails are one canvas below transparent buttons: a canvas each would be a layer each for the browser
  const size = { className: "thumbs", width: maps.length * atlas.cols, height: atlas.heads * atlas.rows }
  s.thumbs = make("canvas", into, size).getContext("2d")
  s.thumb = smallMap(atlas.rows, atlas.cols)
  s.atlas = Array.from({ length: atlas.heads }, (_, row) => {
    soft(atlas.whole ? fillIn(words.head, { head: row }) : words.mean, row + 2, 1)
    return maps.map((_, block) => {
      const button = make("button", into, { type: "button" })
      put(button, row + 2, block + 2)
      button.style.aspectRatio = `${atlas.cols} / ${atlas.rows}`
      const cell = { button, block, row, head: atlas.whole ? row : null }
      button.onclick = () => enter(s, cell)
      button.onkeydown = e => rove(s, e, cell)
      return cell
    })
  })
  s.roving = s.atlas[0][0]
}

function enter(s, cell) {
  s.roving = cell
  change(s, { block: cell.block, head: cell.head, rolled: false })
}

// One stop for the Tab key; arrows move inside.
function rove(s, e, cell) {
  const step = ARROWS[e.key]
  if (!step) return
  e.preventDefault()
  e.stopPropagation()
  s.roving = s.atlas[clamp(cell.row + step[0], s.atlas.length)][clamp(cell.block + step[1], s.atlas[0].length)]
  label(s)
  s.roving.button.focus()
}

// Touch

function change(s, what, delay = 0) {
  choose(s, what, delay)
  label(s)
  schedule(s)
  say(s)
}

export function listen(s) {
  const hit = s.root.querySelector(".hit")
  const at = e => {
    const box = hit.getBoundingClientRect()
    const { grid } = s.data, { clientX, clientY } = placeOf(e)
    const row = Math.floor(((clientY - box.top) / box.height) * grid.rows)
    const col = Math.floor(((clientX - box.left) / box.width) * grid.cols)
    return row >= 0 && col >= 0 && row < grid.rows && col < grid.cols ? grid.prefix + row * grid.cols + col : null
  }
  const hover = token => {
    if (token === s.hover) return
    s.hover = token
    schedule(s)
  }
  const patchOf = token => (token === null || token < s.data.grid.prefix ? null : token - s.data.grid.prefix)
  listenRegion(hit, s, { grid: () => s.data.grid, at: e => patchOf(at(e)), start: () => patchOf(s.st.token) ?? 0,
    changed: () => { s.hover = null; schedule(s); say(s) } })
  hit.onpointermove = e => hover(at(e))
  hit.onpointerleave = () => hover(null)
  hit.onpointercancel = () => hover(null)
  const wasHeld = holding(hit, bare => s.root.classList.toggle("bare", bare))
  hit.onclick = e => !wasHeld() && at(e) !== null && pin(s, at(e), e.shiftKey)
  s.root.querySelector(".tiles").onclick = e => {
    const tile = s.tiles.find(({ button }) => button.contains(e.target))
    if (tile) pin(s, tile.token, e.shiftKey)
  }
  s.root.querySelector(".compare").onclick = () => {
    if (s.st.second !== null) change(s, { second: null })
    else s.comparing = !s.comparing
    if (s.comparing) s.root.querySelector(".look h3").scrollIntoView({ block: "nearest" }) // it says what to do, above the photo
    label(s)
    schedule(s)
  }
  s.root.querySelector(".mask").onclick = () => change(s, { mask: !s.data.outliers.masked })
  s.root.querySelector(".play").onclick = () => play(s)
  s.root.onkeydown = e => pressed(s, e)
}

// The asked token; with Shift, or after "compare", the second one.
function pin(s, token, second) {
  if (!second && !s.comparing) return change(s, { token })
  s.comparing = false
  change(s, { second: token === s.st.second || token === s.st.token ? null : token })
}

function pressed(s, e) {
  if (e.ctrlKey || e.metaKey || (e.altKey && !ARROWS[e.key])) return
  const { data, st } = s
  const onPhoto = e.target.classList.contains("hit")
  const layer = { "[": -1, "]": 1 }[e.key]
  if (ARROWS[e.key] && onPhoto) step(s, ARROWS[e.key], e.altKey)
  else if (layer) change(s, { block: clamp(st.block + layer, data.maps.length) }, 200)
  else if (/^[0-9]$/.test(e.key) && Number(e.key) < data.heads) change(s, { head: Number(e.key), rolled: false }, 100)
  else if (e.key === "Escape" && (st.head !== null || st.rolled)) change(s, { head: null, rolled: false }, 100)
  else if (e.key === "c" && data.class) change(s, { token: 0 }, 100)
  else if (e.key === "r") change(s, { rolled: !st.rolled })
  else if (e.key === " " && onPhoto) play(s)
  else return
  e.preventDefault()
  e.stopPropagation()
}

function step(s, arrow, second) {
  const { grid } = s.data
  const from = second ? s.st.second ?? s.st.token : s.st.token
  const next = grid.prefix + (from < grid.prefix ? 0 : neighbour(from - grid.prefix, arrow, grid))
  s.hover = null
  change(s, second ? { second: next } : { token: next }, 250)
}

// Through the layers, from the first; once more stops. Where a layer has to come from Python, it is waited for.
function play(s) {
  const button = s.root.querySelector(".play")
  const stop = () => {
    clearTimeout(s.playing)
    s.playing = null
    button.setAttribute("aria-pressed", "false")
    button.textContent = "▶ " + s.data.words.play
    commit(s)
  }
  if (s.playing) return stop()
  button.setAttribute("aria-pressed", "true")
  button.textContent = "■ " + s.data.words.stop
  let block = s.st.block === s.data.maps.length - 1 ? 0 : s.st.block
  const next = () => {
    if (s.st.block !== block || !s.data.maps[block]) {
      s.st.block = s.changed.block = block
      commit(s) // the controls follow; where the layer has to come from Python, it is asked for
      label(s)
      schedule(s)
    }
    prefetch(s)
    const there = s.data.maps[block] && mapFor(s, block)
    if (there) block += 1
    if (block >= s.data.maps.length) return (s.playing = setTimeout(stop, 700))
    s.playing = setTimeout(next, there ? 700 : 100)
  }
  s.playing = setTimeout(next, 0)
}
