// The drawing part of the page Tokens: the view on both photos, similarity on the other one, frames of matches, the strip.

import { drawBar } from "../explorer/explorer_attention_bytes.js"
import { heatOnPhoto, there } from "../heat_overlay.js"
import { framed, strokeTwice } from "../outlier_frames.js"
import { cosines, ends, matchOf, mutualMatches, shade, unitTokens, viewColours } from "./tokens_similarity.js"
import { tellTokens } from "./tokens_sentences.js"

const PINNED = "#ffffff", POINTED = "#ffb000", NEXT = "#4FC3D9"
const SLICE_MS = 6 // of a frame, after which no other layer of the strip is begun: what is pointed at comes first
export const FADE_MS = 200

export function schedule(s) {
  s.again ||= () => schedule(s)
  s.frame ||= requestAnimationFrame(() => paint(s))
}

// A file of Python's, decoded; null while it is on its way.
export function fileOf(s, url, decode) {
  if (!url) return null
  if (!s.files.has(url)) {
    s.files.set(url, null)
    fetch(url)
      .then(answer => (answer.ok ? answer.arrayBuffer() : Promise.reject(new Error(answer.statusText))))
      .then(buffer => (s.files.set(url, decode(buffer)), schedule(s)))
      .catch(() => s.files.delete(url)) // asked for again by the next touch
  }
  return s.files.get(url)
}

const bytes = buffer => new Uint8Array(buffer), signed = buffer => new Int8Array(buffer), floats = buffer => new Float32Array(buffer)

export const tokensOf = (s, photo, layer) => fileOf(s, s.data.vectors[photo][layer], buffer => unitTokens(signed(buffer), s.count))

export function pictureOf(s, url) {
  if (!s.images.has(url)) s.images.set(url, Object.assign(new Image(), { onload: () => schedule(s), src: url }))
  return s.images.get(url)
}

/** What is pointed at, or pinned: a photo and a patch; null where nothing is. */
export const asked = s => s.hover ?? (s.st.patch === null ? null : { photo: 0, patch: s.st.patch })

// The match of what is asked at the chosen layer, as Python found it; null while it is on its way.
export function foundMatch(s, at) {
  const all = at && fileOf(s, s.data.matches, floats)
  return all && matchOf(all, s.data.blocks, s.count, at.photo, s.st.layer, at.patch)
}

export function paint(s) {
  Object.assign(s, { frame: 0, began: performance.now(), drew: false })
  s.root.toggleAttribute("data-escape", s.st.patch !== null)
  const at = asked(s)
  const files = { colours: fileOf(s, s.data.colours, bytes), first: fileOf(s, s.data.first, floats), segments: fileOf(s, s.data.segments, signed) }
  s.root.classList.toggle("waiting", !files[{ colours: "colours", foreground: "first", segments: "segments" }[s.st.view]])
  s.lit = null
  for (const photo of [0, 1]) {
    if (at && at.photo !== photo && paintSimilarity(s, at, photo)) continue
    paintView(s, photo, files)
  }
  const match = foundMatch(s, at)
  for (const photo of [0, 1]) outlines(s, photo, at, match)
  matchLines(s)
  s.root.classList.toggle("still", !s.lit)
  strip(s, at ?? { photo: 0, patch: s.data.middle })
  tellTokens(s, at, match)
}

// A canvas as large as it is shown, to be drawn on in CSS pixels; drawn anew, it is empty.
function canvasOf(s, photo, name) {
  const canvas = s.root.querySelector(`.photo${photo} .${name}`), dpr = window.devicePixelRatio || 1
  const [wide, high] = s.sizes[photo], size = [Math.round(wide * dpr), Math.round(high * dpr)]
  if (canvas.width !== size[0] || canvas.height !== size[1]) Object.assign(canvas, { width: size[0], height: size[1] })
  const ctx = canvas.getContext("2d")
  ctx.setTransform(dpr, 0, 0, dpr, 0, 0)
  return { ctx, wide, high }
}

// Nothing is drawn twice: `key` says what is there.
function stale(s, photo, key) {
  const whole = [key, ...s.sizes[photo], window.devicePixelRatio].join()
  if (s.drawn[photo] === whole) return false
  s.drawn[photo] = whole
  s.drew = true
  return true
}

function paintSimilarity(s, at, photo) {
  const from = tokensOf(s, at.photo, s.st.layer), to = tokensOf(s, photo, s.st.layer), detail = pictureOf(s, s.data.details[photo])
  if (!from || !to || !there(detail)) return false
  const out = s.data.out[photo], mode = s.data.mode
  const key = ["similar", at.photo, at.patch, s.st.layer, mode, s.data.vectors[0][s.st.layer], s.data.vectors[1][s.st.layer], out.length].join()
  if (!stale(s, photo, key)) {
    s.lit = s.shades[photo]
    return true
  }
  cosines(from, at.patch, to, s.values)
  s.lit = s.shades[photo] = ends(s.values, out)
  const { ctx, wide, high } = canvasOf(s, photo, "lit")
  ctx.clearRect(0, 0, wide, high)
  shade(s.small, s.values, s.lit, out, s.colours.heat)
  heatOnPhoto(ctx, [{ image: s.small.canvas }], detail, wide, high)
  return true
}

function paintView(s, photo, files) {
  const { st, data } = s, file = { colours: data.colours, foreground: data.first, segments: data.segments }[st.view]
  const detail = pictureOf(s, data.details[photo])
  const part = s.fade && s.fade.part < 1 ? s.fade.part : 1
  if (!files[{ colours: "colours", foreground: "first", segments: "segments" }[st.view]] || !there(detail)) return
  if (!stale(s, photo, [st.view, st.layer, st.threshold, file, data.out[photo].length, data.photos[photo], part].join())) return
  const how = { photo, count: s.count, threshold: st.threshold, out: data.out[photo], share: data.share, segmentColours: data.segment_colours, cut: data.cut }
  const { ctx, wide, high } = canvasOf(s, photo, "lit")
  ctx.clearRect(0, 0, wide, high)
  const maps = []
  for (const [layer, small, opacity] of part < 1 ? [[s.fade.from, s.before, 1], [st.layer, s.small, part]] : [[st.layer, s.small, 1]]) {
    const detailed = viewColours(st.view, files, { ...how, layer }, small.pixels)
    small.ctx.putImageData(small.image, 0, 0)
    maps.push({ image: small.canvas, part: opacity, detailed })
  }
  if (maps[0].detailed) return heatOnPhoto(ctx, maps, detail, wide, high)
  ctx.imageSmoothingEnabled = false
  for (const { image, part: opacity } of maps.slice(-1)) {
    ctx.globalAlpha = opacity
    ctx.drawImage(image, 0, 0, wide, high)
  }
  ctx.globalAlpha = 1
}

// What is pointed at and pinned, the best match and the runner-up; outlier tokens, where they are not left out.
function outlines(s, photo, at, match) {
  const { data, st } = s, { rows, cols } = data.grid
  const { ctx, wide, high } = canvasOf(s, photo, "hit")
  ctx.clearRect(0, 0, wide, high)
  const [w, h] = [wide / cols, high / rows]
  const box = (patch, colour, line, dash = []) => {
    const col = patch % cols, row = Math.floor(patch / cols)
    const frame = [Math.max(col * w, 1.5), Math.max(row * h, 1.5), Math.min(w, wide - col * w - 1.5), Math.min(h, high - row * h - 1.5)]
    strokeTwice(ctx, colour, line, () => ctx.strokeRect(...frame), { dash })
  }
  framed(ctx, data.unmasked[photo], rows, cols, wide, high)
  if (photo === 0 && !at) box(data.middle, PINNED, 2, [3, 3]) // the example of the strip
  if (photo === 0 && st.patch !== null) box(st.patch, PINNED, 2.5)
  if (s.hover?.photo === photo) box(s.hover.patch, POINTED, 2.5)
  if (!match || at.photo === photo) return
  if (match.next >= 0) box(match.next, NEXT, 2, [4, 3])
  box(match.best, at === s.hover ? POINTED : PINNED, 3)
}

// A line from each patch of the first photo to its best match in the second, where each is the other's.
function matchLines(s) {
  const canvas = s.root.querySelector(".lines"), all = s.st.lines ? fileOf(s, s.data.matches, floats) : null
  canvas.hidden = !all
  if (!all) return (s.linesDrawn = "")
  const { data, st } = s, { rows, cols } = data.grid, pair = canvas.parentElement.getBoundingClientRect()
  const boxes = [0, 1].map(photo => s.root.querySelector(`.photo${photo} .photo`).getBoundingClientRect())
  const dpr = window.devicePixelRatio || 1
  const key = [data.matches, st.layer, dpr, pair.width, pair.height, ...boxes.flatMap(box => [box.x - pair.x, box.y - pair.y, box.width])].join()
  if (key === s.linesDrawn) return
  s.linesDrawn = key
  Object.assign(canvas, { width: Math.round(pair.width * dpr), height: Math.round(pair.height * dpr) })
  const ctx = canvas.getContext("2d")
  ctx.setTransform(dpr, 0, 0, dpr, -pair.x * dpr, -pair.y * dpr)
  const middle = (box, patch) => [box.x + (((patch % cols) + 0.5) * box.width) / cols, box.y + ((Math.floor(patch / cols) + 0.5) * box.height) / rows]
  for (const [patch, best] of mutualMatches(all, data.blocks, s.count, st.layer)) {
    ctx.beginPath()
    ctx.moveTo(...middle(boxes[0], patch))
    ctx.lineTo(...middle(boxes[1], best))
    strokeTwice(ctx, PINNED, 1.2, () => ctx.stroke(), { below: 2.6, ink: "rgba(0,0,0,.6)" })
  }
}

// The strip: similarity to the patch at every layer, as many layers a frame as there is time for.
function strip(s, at) {
  const key = [at.photo, at.patch, s.data.vectors[at.photo][0], s.data.out[at.photo].length, s.data.mode].join()
  if (s.stripKey !== key) Object.assign(s, { stripKey: key, left: s.tiles.map((_, layer) => layer) })
  const waiting = []
  let least = s.drew ? 0 : 1 // however slow a machine is, it goes on
  while (s.left.length && (least-- > 0 || performance.now() - s.began < SLICE_MS)) {
    const layer = s.left.shift(), tokens = tokensOf(s, at.photo, layer)
    if (!tokens) {
      waiting.push(layer)
      continue
    }
    cosines(tokens, at.patch, tokens, s.scratch)
    shade(s.thumb, s.scratch, [ends(s.scratch, s.data.out[at.photo])[0], 1], s.data.out[at.photo], s.colours.bar)
    s.tiles[layer].ctx.drawImage(s.thumb.canvas, 0, 0)
  }
  const more = s.left.length
  s.left.push(...waiting) // their coming asks for a frame
  if (more) schedule(s)
}

export function bar(s) {
  drawBar(s.root.querySelector(".scale canvas"), s.colours.bar)
}
