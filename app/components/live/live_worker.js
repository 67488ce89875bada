// The model, away from the page: frames come in, answers go out. It asks this server for its files, and nobody for anything else.

import { fitting } from "./live_arrays.js"
import { boxOfCut, resizeAndCrop, rounded } from "./live_resize.js"
import { fineDetail, rollout, topClasses } from "./live_rollout_and_detail.js"

const VIEW_PX = 320, TOP = 5, MOST_THREADS = 4, GONE = "410" // HTTP's: the file is not what it was
const here = /** @type {any} */ (self)
let runtime, session, spec, loading, spareBytes
const whole = canvasOf(), view = canvasOf()

function canvasOf() {
  const canvas = new OffscreenCanvas(1, 1)
  return { canvas, ctx: canvas.getContext("2d", { willReadFrequently: true }) }
}

here.onmessage = async ({ data: message }) => {
  try {
    if (message.kind === "load") (loading = load(message.files)).catch(() => {}) // whoever starts is told
    if (message.kind === "start") await start(message.spec)
    if (message.kind === "frame") await answer(message)
    if (message.kind === "keep") await keep(message)
  } catch (/** @type {any} */ error) {
    here.postMessage({ kind: "error", id: message.id, reason: String(error?.message || error), gone: error?.message === GONE })
  }
}

async function start(given) {
  adopt(given)
  await loading
  here.postMessage({ kind: "ready", threads: runtime.env.wasm.numThreads })
}

/** What the model is; `start`: where its answer is read, as rollout begins with it. */
function adopt(given) {
  const start = new Float32Array(given.grid.prefix + given.grid.rows * given.grid.cols)
  for (const token of given.readout) start[token] = 1 / given.readout.length
  spec = { ...given, start }
}

async function load(files) {
  const [weights, graph] = [fetchBytes(files.weights, true), fetchBytes(files.graph)] // while the library is on its way
  runtime = await import(files.library)
  runtime.env.wasm.wasmPaths = { wasm: files.wasm }
  runtime.env.wasm.numThreads = here.crossOriginIsolated ? Math.min(MOST_THREADS, Math.max(1, navigator.hardwareConcurrency - 1)) : 1
  const open = (model, more) => runtime.InferenceSession.create(model, { executionProviders: ["wasm"], graphOptimizationLevel: "basic", ...more })
  open(new Uint8Array(1), { logSeverityLevel: 4 }).catch(() => {}) // no model: the wasm is fetched and compiled while the weights come
  const [model, data] = [await graph, await weights]
  session = await open(model, { externalData: [{ path: files.named, data }] })
  free(model, data) // the library has made its own of them
}

/** Arrays that nothing but this script has seen, emptied at once: a browser's collector lets dozens lie. @param {any[]} arrays */
function free(...arrays) {
  for (const { buffer } of arrays) buffer.transfer?.(0)
}

/** A file, and on the way how much of it is there.
 * @param {string} url @param {boolean} told */
async function fetchBytes(url, told = false) {
  const response = await fetch(url)
  if (!response.ok) throw new Error(String(response.status))
  const plain = response.headers.get("content-encoding") !== "gzip", size = plain ? Number(response.headers.get("content-length")) : 0
  let got = 0, bytes = new Uint8Array(size)
  for (const reader = response.body.getReader(); ; ) {
    const { done, value } = await reader.read()
    if (done) break
    if (got + value.length > bytes.length) bytes = grown(bytes, got, value.length)
    bytes.set(value, got)
    got += value.length
    if (told && size) here.postMessage({ kind: "progress", part: got / size })
  }
  return bytes.subarray(0, got)
}

/** The same bytes with room for more, where nobody has said how many there are.
 * @param {Uint8Array} bytes @param {number} got @param {number} more */
function grown(bytes, got, more) {
  const larger = new Uint8Array(Math.max(got + more, 2 * bytes.length))
  larger.set(bytes.subarray(0, got))
  return larger
}

/** A frame's pixels, and the frame closed; without one, those of the last frame.
 * @param {any} frame an ImageBitmap, or a VideoFrame whose pixels stand as they are shown */
async function pixelsOf(frame) {
  const from = frame || whole.canvas, width = from.displayWidth ?? from.width, height = from.displayHeight ?? from.height
  const spare = spareBytes
  spareBytes = null
  const copied = frame && await copyOf(frame, 4 * width * height, spare)
  if (frame) {
    if (whole.canvas.width !== width || whole.canvas.height !== height) Object.assign(whole.canvas, { width, height })
    copied ? whole.ctx.putImageData(new ImageData(copied, width, height), 0, 0) : drawOnWhite(frame, width, height)
    frame.close()
  }
  return { width, height, rgba: copied || whole.ctx.getImageData(0, 0, width, height).data }
}

// Transparent parts are white, as `vitcore/images/colour_conversion.py` has them.
function drawOnWhite(frame, width, height) {
  whole.ctx.fillStyle = "white"
  whole.ctx.fillRect(0, 0, width, height)
  whole.ctx.drawImage(frame, 0, 0)
}

// RGBA of what is drawn: an ImageData would leave its pixels behind.
async function pixelsOfView(wide, high, spare) {
  let frame
  try {
    frame = new VideoFrame(view.canvas, { timestamp: 0 })
  } catch {} // an older browser
  const copied = frame && await copyOf(frame, 4 * wide * high, spare)
  frame?.close()
  return copied || view.ctx.getImageData(0, 0, wide, high).data
}

// RGBA of a video's frame, or null: some browsers copy the camera's own format alone.
async function copyOf(frame, size, spare) {
  let heeded = false // a browser reads the options that it knows: others would copy BGRA, as long
  const as = { get format() { heeded = true; return "RGBA" } }
  try {
    if (frame.allocationSize?.(as) !== size || !heeded) return null
    const bytes = fitting(spare, Uint8ClampedArray, size)
    await frame.copyTo(bytes, as)
    return bytes
  } catch {
    return null
  }
}

// `sharp`: the same crop at the photo's own sharpness, to be drawn; without it, the frame's own. `spec` comes with what is asked early,
// `spare` with what is asked later.
async function answer({ id, bitmap, sharp, covered, off, spare, spec: early }) {
  if (early) adopt(early)
  await loading
  const begun = performance.now()
  const { width, height, rgba } = await pixelsOf(bitmap), { grid, cut, blocks } = spec, tokens = grid.prefix + grid.rows * grid.cols
  const rgb = resizeAndCrop(rgba, width, height, cut), paint = covered.length ? coverPatches(rgb, covered) : "", resized = performance.now()
  const { logits, attention } = await run(rgb, off, spare?.attention), answered = performance.now()
  const rolled = rollout(attention, blocks, tokens, spec.start)
  const [high, wide] = [Math.round(VIEW_PX / grid.cols) * grid.rows, Math.round(VIEW_PX / grid.cols) * grid.cols]
  if (view.canvas.width !== wide || view.canvas.height !== high) Object.assign(view.canvas, { width: wide, height: high })
  const [x, y, w, h] = sharp ? [0, 0, sharp.width, sharp.height] : boxOfCut(width, height, cut)
  view.ctx.imageSmoothingQuality = "high"
  view.ctx.drawImage(sharp || whole.canvas, x, y, w, h, 0, 0, wide, high)
  sharp?.close()
  const [tall, broad] = [high / grid.rows, wide / grid.cols]
  view.ctx.fillStyle = paint
  for (const patch of covered) view.ctx.fillRect((patch % grid.cols) * broad, Math.floor(patch / grid.cols) * tall, broad, tall)
  const seen = await pixelsOfView(wide, high, spare?.seen), detail = fineDetail(seen, wide, high, grid, spare?.detail)
  const ms = { resize: resized - begun, model: answered - resized, all: performance.now() - begun }
  spareBytes = here.latest?.rgba
  Object.assign(here, { latest: { id, ms, covered, off, logits, rolled, rgba, width, height } }) // for tests
  const drawn = { covered, off, wide, high, seen, detail, attention, rolled, logits, top: topClasses(logits, TOP, spec.output) }
  here.postMessage({ kind: "frame", id, ms, ...drawn }, [seen.buffer, detail.buffer, attention.buffer])
}

/** Paint over patches of RGB bytes with their mean colour (`covered_patches.py`, "mean"), which comes back as CSS has it.
 * @param {Uint8ClampedArray} rgb @param {number[]} patches */
function coverPatches(rgb, patches) {
  const { cut: { wide }, grid: { cols, step: [high, across] } } = spec, sums = [0, 0, 0]
  for (let i = 0; i < rgb.length; i++) sums[i % 3] += rgb[i]
  const mean = sums.map(sum => rounded((3 * sum) / rgb.length))
  for (const patch of patches) {
    const top = Math.floor(patch / cols) * high, left = (patch % cols) * across
    for (let y = top; y < top + high; y++) for (let x = left; x < left + across; x++) rgb.set(mean, 3 * (y * wide + x))
  }
  return `rgb(${mean})`
}

/** @param {Uint8ClampedArray} rgb @param {number[]} off heads that hand nothing on, each `layer · heads + head`
 * @param {Float32Array | undefined} spare the attention of a frame that has gone, to be written over */
async function run(rgb, off, spare) {
  const { cut, mean, std, blocks, heads } = spec, count = cut.high * cut.wide, x = new Float32Array(3 * count)
  for (let i = 0, j = 0; i < count; i++) for (let c = 0; c < 3; c++) x[c * count + i] = (rgb[j++] / 255 - mean[c]) / std[c]
  const image = new runtime.Tensor("float32", x, [1, 3, cut.high, cut.wide])
  const kept = new Float32Array(blocks * heads).fill(1)
  for (const head of off) kept[head] = 0
  const out = await session.run({ image, heads: new runtime.Tensor("float32", kept, [blocks, heads, 1, 1]) }, ["logits", "attention"])
  const given = out.attention.data, attention = fitting(spare, Float32Array, given.length)
  attention.set(given)
  free(given, x) // the library has and had its own
  return { logits: out.logits.data, attention }
}

// The last frame as a file: it leaves the browser only when the visitor asks for that.
async function keep({ id }) {
  const file = await whole.canvas.convertToBlob({ type: "image/png" })
  here.postMessage({ kind: "kept", id, file })
}
