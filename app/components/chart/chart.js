// A chart drawn in place: pictures, points, lines, bars; what stays keeps its element, so that it glides and never blinks.

import { minus } from "../text_formatting.js"
import { fillHover, ticksOf } from "./chart_ticks_and_hover.js"

const NS = "http://www.w3.org/2000/svg"
const states = new WeakMap()
const LEAST = 40 // px of room for the data, however narrow the page: less would be negative beside wide labels
const THREE_COLUMNS_PX = 1200 // a page as wide as this shows charts in columns, and all their rows at once
const ABOVE_EM = 142, WORDS_EM = 120 // px at usual type: above all charts of a page, and in a chart's box beside its plot
let em = 1 // how large the page's type is, over 16 px: more in a lecture

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector("figure")
  let s = states.get(parentElement)
  if (!s) {
    s = { wide: 0 }
    states.set(parentElement, s)
    s.observer = new ResizeObserver(() => root.clientWidth !== s.wide && draw(root, s))
    s.observer.observe(root)
  }
  s.data = data
  if (s.wide) draw(root, s)
  else {
    if (root.clientWidth) frame(root, s) // it takes its room at once, so that nothing below it moves
    whenIdle(() => draw(root, s)) // what is nearer the top of the page goes first
  }
  return () => s.observer.disconnect()
}

const whenIdle = window.requestIdleCallback ? run => requestIdleCallback(run, { timeout: 400 }) : run => setTimeout(run, 50)

function draw(root, s) {
  s.wide = root.clientWidth
  if (!s.wide) return
  const svg = root.querySelector(":scope > svg"), { traces, x, y } = s.data
  const place = frame(root, s)
  const [below, inside, above] = pool(svg, "g", 3)
  drawAxes(below, place, x, y)
  drawTraces(inside, place, traces)
  drawLines(above, place, s.data.lines, s.data.notes.filter(n => !besidePlot(n)))
  listen(svg, root.querySelector("p"), place, traces)
}

const besidePlot = note => note.paper[0] && note.paper[1]

// All words around the plot, and the plot's size; where things are in it.
function frame(root, s) {
  const { title, about, alt, traces, legend, x, y, height } = s.data
  const svg = root.querySelector(":scope > svg")
  em = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16
  root.querySelector("b").textContent = title
  root.querySelector("figcaption span").textContent = about.replace(/<[^>]+>/g, " ")
  svg.setAttribute("aria-label", `${alt}. ${title}`)
  svg.setAttribute("role", "img")
  drawLegend(root.querySelector("ul"), legend ? traces.filter(t => t.name && t.legend) : [])
  drawScale(root.querySelector(".scale"), traces.find(t => t.kind === "scale"))
  drawNotes(root.querySelector(".notes"), s.data.notes.filter(besidePlot))
  const alone = root.matches(":fullscreen"), given = alone ? NaN : parseFloat(getComputedStyle(svg).maxHeight) // by a style sheet
  const most = given || mostHigh(root, s.data.rows)
  const place = layout(root.clientWidth, alone ? window.innerHeight : given ? Infinity : height, x, y, most, alone ? most : given ? Infinity : 560 * em, alone)
  svg.setAttribute("height", place.high)
  svg.style.height = place.high + "px"
  return place
}

// How high the plot may be: alone on a full screen, or where `rows` of charts are seen at once; 0: any height.
const mostHigh = (root, rows) => root.matches(":fullscreen") ? window.innerHeight - 2 * WORDS_EM * em : (rows && window.innerWidth >= THREE_COLUMNS_PX ? Math.max(170 * em, (window.innerHeight - ABOVE_EM * em) / rows - WORDS_EM * em) : Infinity)

function layout(wide, height, x, y, most, widest, centred) {
  const left = y.visible === false ? 0 : em * (34 + 7 * Math.max(...ticksOf(y, 5).map(t => t.label.length)))
  const bottom = x.visible === false ? 2 : 44 * em
  const at = (axis, from, to) => {
    const [low, high] = axis.range
    return value => from + ((axis.type === "log" ? Math.log10(value) : value) - low) / (high - low) * (to - from)
  }
  if (y.scaleanchor) {
    const ratio = Math.abs(y.range[1] - y.range[0]) / Math.abs(x.range[1] - x.range[0])
    const w = Math.max(LEAST, Math.min(wide - left, widest / Math.max(1, ratio), (most - bottom) / ratio))
    const start = centred ? left + (wide - left - w) / 2 : left
    return { left: start, top: 0, w, h: w * ratio, high: w * ratio + bottom, x: at(x, start, start + w), y: at(y, w * ratio, 0) }
  }
  const h = Math.max(60, Math.min(em * (height - (bottom > 2 ? 90 : 56)), most - 8) - bottom), w = Math.max(LEAST, wide - left - 10)
  return { left, top: 8, w, h, high: 8 + h + bottom, x: at(x, left, left + w), y: at(y, 8 + h, 8) }
}

function drawAxes(g, place, x, y) {
  const ticks = [...ticksOf(x, place.w / 70 / em).map(t => ({ ...t, axis: "x" })), ...ticksOf(y, place.h / 30 / em).map(t => ({ ...t, axis: "y" }))]
  const [lines, words, titles] = pool(g, "g", 3)
  const { left, top, w, h } = place
  pool(lines, "line", ticks.length).forEach((line, i) => {
    const { value, axis } = ticks[i]
    const at = axis === "x" ? place.x(value) : place.y(value)
    const grid = (axis === "x" ? x : y).showgrid === false ? 4 : 0
    set(line, axis === "x" ? { x1: at, x2: at, y1: grid ? top + h : top, y2: top + h + 4 } : { x1: left - 4, x2: grid ? left : left + w, y1: at, y2: at })
    set(line, { stroke: (axis === "x" ? x : y).gridcolor || "#888" })
  })
  pool(words, "text", ticks.length).forEach((text, i) => {
    const { value, label, axis } = ticks[i]
    text.textContent = label
    set(text, axis === "x" ? { x: place.x(value), y: top + h + 18 * em, "text-anchor": "middle" } : { x: left - 8, y: place.y(value) + 4 * em, "text-anchor": "end" })
    text.setAttribute("class", "soft")
  })
  const named = [x.visible !== false && x.title, y.visible !== false && y.title]
  pool(titles, "text", 2).forEach((text, i) => {
    text.textContent = named[i] || ""
    const where = i ? { transform: `translate(${12 * em} ${top + h / 2}) rotate(-90)` } : { x: left + w / 2, y: top + h + 38 * em }
    set(text, { ...where, "text-anchor": "middle" })
  })
}

function drawTraces(g, place, traces) {
  pool(g, "g", traces.length).forEach((layer, i) => {
    const trace = traces[i]
    if (layer.dataset.kind !== trace.kind) layer.replaceChildren()
    layer.dataset.kind = trace.kind
    if (DRAW[trace.kind]) DRAW[trace.kind](layer, place, trace)
  })
}

// The picture before stays until this one can be seen.
function alone(layer, image) {
  image.style.visibility = "visible"
  for (const other of [...layer.children]) if (other !== image) other.remove()
}

const DRAW = {
  image(layer, place, t) {
    const box = { x: place.x(t.left), y: place.y(t.top), width: place.x(t.left + t.wide) - place.x(t.left), height: place.y(t.top + t.high) - place.y(t.top) }
    const shown = [...layer.children].find(e => e.dataset.source === t.source)
    const image = shown || document.createElementNS(NS, "image")
    set(image, { ...box, preserveAspectRatio: "none", opacity: t.opacity })
    image.style.imageRendering = t.smooth || box.width * devicePixelRatio < t.px ? "auto" : "pixelated" // smaller, sharp edges would drop pixels
    layer.dataset.wanted = t.source
    if (shown) return shown.dataset.loaded && alone(layer, image)
    image.dataset.source = t.source
    image.style.visibility = layer.childElementCount ? "hidden" : "visible"
    image.onload = () => {
      image.dataset.loaded = true
      if (layer.dataset.wanted === t.source) alone(layer, image)
    }
    layer.append(image)
    image.setAttribute("href", t.source)
  },
  points(layer, place, t) {
    const [path, dots] = pool(layer, "g", 2)
    const pairs = t.x.map((x, i) => [x, t.y[i]]).filter(([x, y]) => x !== null && y !== null)
    const d = t.mode.includes("lines") ? pairs.map(([x, y], i) => `${i ? "L" : "M"}${place.x(x).toFixed(1)} ${place.y(y).toFixed(1)}`).join("") : ""
    pool(path, "path", 1).forEach(line => set(line, { d, fill: "none", stroke: t.colour, "stroke-width": t.wide, opacity: t.opacity,
      "stroke-linejoin": "round", "stroke-dasharray": dashes(t.dash) }))
    const marked = t.mode.includes("markers") ? pairs : []
    pool(dots, "path", marked.length).forEach((dot, i) => {
      const hollow = t.symbol.endsWith("-open")
      set(dot, { d: symbol(t.symbol, em * t.size / 2), fill: hollow ? "none" : t.colour, stroke: hollow ? t.colour : "none", "stroke-width": 2,
        opacity: t.opacity, class: "dot" })
      dot.style.transform = `translate(${place.x(marked[i][0])}px, ${place.y(marked[i][1])}px)`
    })
  },
  bars(layer, place, t) {
    pool(layer, "rect", t.x.length).forEach((bar, i) => {
      const high = Math.abs(place.y(t.thick) - place.y(0))
      set(bar, { x: place.x(0), y: place.y(t.y[i]) - high / 2, height: high, fill: t.colour, rx: 2, class: "bar" })
      bar.style.width = Math.max(0, place.x(t.x[i]) - place.x(0)) + "px"
    })
  },
}

const symbol = (kind, r) =>
  kind.startsWith("diamond") ? `M0 ${-1.25 * r}L${1.25 * r} 0L0 ${1.25 * r}L${-1.25 * r} 0Z`
  : kind.startsWith("square") ? `M${-r} ${-r}H${r}V${r}H${-r}Z`
  : `M${-r} 0A${r} ${r} 0 1 0 ${r} 0A${r} ${r} 0 1 0 ${-r} 0Z`
const dashes = dash => ({ dash: "7 5", dot: "2 4" })[dash] || "none"

function drawLines(g, place, lines, notes) {
  const [drawn, words] = pool(g, "g", 2)
  pool(drawn, "line", lines.length).forEach((line, i) => {
    const { x, y, across, along, colour, wide, dash } = lines[i]
    const px = across ? [place.left, place.left + place.w] : x.map(place.x)
    const py = along ? [place.top + place.h, place.top] : y.map(place.y)
    set(line, { x1: px[0], x2: px[1], y1: py[0], y2: py[1], stroke: colour || "var(--st-primary-color)", "stroke-width": wide, "stroke-dasharray": dashes(dash) })
  })
  pool(words, "text", notes.length).forEach((text, i) => {
    const { x, y, paper, parts, anchor, size, colour } = notes[i]
    const px = paper[0] ? place.left + x * place.w : place.x(x)
    const py = paper[1] ? place.top + (1 - y) * place.h : place.y(y)
    set(text, { x: px, y: py + { top: em * size, middle: em * size / 3, bottom: -3 * em }[anchor[1]], "text-anchor": { left: "start", right: "end", center: "middle" }[anchor[0]] })
    Object.assign(text.style, colour ? { fill: colour, stroke: "rgba(0,0,0,.8)", strokeWidth: "3px", paintOrder: "stroke" } : { fill: "", stroke: "" })
    text.style.fontSize = em * size + "px"
    pool(text, "tspan", parts.length).forEach((part, k) => {
      part.textContent = parts[k]
      part.style.fontWeight = k % 2 ? 600 : 400
    })
  })
}

// Notes that belong to no place in the plot: a line above it breaks where it must, and none lies over another.
function drawNotes(list, notes) {
  list.hidden = !notes.length
  list.replaceChildren(...notes.map(({ parts }) => Object.assign(document.createElement("li"), { textContent: parts.join("") })))
}

function drawLegend(list, named) {
  list.hidden = !named.length
  while (list.childElementCount > named.length) list.lastChild.remove()
  named.forEach((t, i) => {
    if (!list.children[i]) {
      const item = document.createElement("li")
      const key = document.createElementNS(NS, "svg")
      set(key, { viewBox: "-8 -5 16 10", "aria-hidden": "true" })
      key.append(document.createElementNS(NS, "path"))
      item.append(key, document.createElement("span"))
      list.append(item)
    }
    const path = list.children[i].querySelector("path")
    const line = !t.mode.includes("markers")
    const hollow = line || t.symbol.endsWith("-open")
    set(path, { d: line ? "M-8 0H8" : symbol(t.symbol, 4), fill: hollow ? "none" : t.colour, stroke: hollow ? t.colour : "none",
      "stroke-width": line ? 2.5 : 1.5, opacity: t.opacity })
    list.children[i].querySelector("span").textContent = t.name
  })
}

function drawScale(row, t) {
  row.hidden = !t
  if (!t) return
  const [low, high] = row.querySelectorAll("span")
  low.textContent = minus(+Number(t.low).toPrecision(3))
  high.textContent = minus(+Number(t.high).toPrecision(3))
  row.querySelector("em").textContent = t.unit
  row.querySelector("i").style.background = `linear-gradient(90deg, ${t.colours.join(",")})`
}

function listen(svg, said, place, traces) {
  const cells = traces.find(t => t.kind === "cells")
  svg.onpointerleave = () => (said.textContent = "")
  svg.onpointermove = e => {
    const box = svg.getBoundingClientRect()
    const [px, py] = [e.clientX - box.left, e.clientY - box.top]
    said.textContent = cells ? cell(cells, place, px, py) : nearest(traces, place, px, py)
  }
}

function cell(t, place, px, py) {
  const col = Math.floor((px - place.x(0)) / (place.x(t.dx) - place.x(0)))
  const row = Math.floor((py - place.y(0)) / (place.y(t.dy) - place.y(0)))
  return t.text[row]?.[col] ?? ""
}

function nearest(traces, place, px, py) {
  let best = 40 ** 2, words = ""
  for (const t of traces.filter(t => t.kind === "points" && t.hover)) {
    t.x.forEach((x, i) => {
      if (x === null || t.y[i] === null) return
      const far = (place.x(x) - px) ** 2 + (place.y(t.y[i]) - py) ** 2
      if (far < best) [best, words] = [far, t.hovers[i]?.replace(/<br>/g, " · ") ?? fillHover(t.hover, x, t.y[i])]
    })
  }
  return words
}

function pool(parent, tag, count) {
  while (parent.childElementCount > count) parent.lastChild.remove()
  while (parent.childElementCount < count) parent.append(document.createElementNS(NS, tag))
  return [...parent.children]
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value)
}
