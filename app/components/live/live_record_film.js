// Live's film: every frame of a clip beside its heat, with its answer, recorded in this browser at the clip's own pace.

import { say, within } from "./live_answer.js"
import { drawHeat } from "./live_draw.js"
import { LONGEST_S, seek, stepTo } from "./live_clip_frames.js"
import { shownShare } from "./live_rollout_and_detail.js"

const SIDE_PX = 480, LINE_PX = 40, MOST_FRAMES = 600, FRAME_MS = 30000, MOST_PAINT_MS = 1000, SETTLE_MS = 500
const SAME = 40 // levels of 255, of means over an eighth of a picture: more than compression changes
const KINDS = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm", "video/mp4"]

export const filmKind = () => KINDS.find(kind => globalThis.MediaRecorder?.isTypeSupported(kind)) ?? ""

/** Which frames of a clip are filmed: all, or of a long one each n-th. @param {number} count @param {number} most */
export function framesOfFilm(count, most = MOST_FRAMES) {
  const step = Math.max(1, Math.ceil(count / most))
  return { step, frames: Array.from({ length: Math.ceil(count / step) }, (_, i) => i * step) }
}

/** Film the clip; asked once more, stop. @param {any} s */
export async function film(s) {
  if (s.filming) return (s.filming.stopped = true)
  const source = s.source, run = (s.filming = { stopped: false }), { step, frames } = framesOfFilm(source.clip.count), shots = []
  const gone = () => s.source !== source || s.failed || s.end.signal.aborted
  try {
    for (const at of frames) {
      if (run.stopped || gone()) break
      say(s, "filming", { at: shots.length + 1, count: frames.length })
      const answered = answerOf(s)
      await stepTo(s, at)
      await answered
      if (gone()) break
      shots.push({ picture: await shot(s), ms: step * source.clip.heldMs })
    }
    const file = shots.length && !gone() ? await recorded(shots) : null
    if (file) download(file)
    if (!s.failed) say(s, file ? "filmed" : shots.length && !gone() ? "film cut" : "")
  } catch (/** @type {any} */ error) {
    say(s, "not filmed", { reason: String(error?.message || error) })
  }
  s.filming = null
}

// The answer to the frame that is asked for next.
function answerOf(s) {
  return within(FRAME_MS, new Promise(resolve => {
    s.heard = message => {
      if (s.stepped || s.asked < s.since || message.id < s.since) return
      s.heard = null
      resolve(message)
    }
  }))
}

function shot(s) {
  const { grid, labels } = s.data, high = Math.round((SIDE_PX * grid.rows * grid.step[0]) / (grid.cols * grid.step[1]) / 2) * 2
  const canvas = Object.assign(document.createElement("canvas"), { width: 2 * SIDE_PX, height: high + LINE_PX })
  const ctx = canvas.getContext("2d"), [index, share] = s.latest.top[0] ?? []
  ctx.imageSmoothingQuality = "high"
  ctx.fillRect(0, 0, canvas.width, canvas.height)
  ctx.drawImage(s.pictures.seen, 0, 0, SIDE_PX, high)
  ctx.translate(SIDE_PX, 0)
  drawHeat(s, ctx, SIDE_PX, high)
  ctx.setTransform(1, 0, 0, 1, 0, 0)
  Object.assign(ctx, { fillStyle: "#fff", font: `20px ${getComputedStyle(s.root).fontFamily}`, textBaseline: "middle" })
  if (index !== undefined) ctx.fillText(`${labels[index] ?? index} · ${shownShare(share)}`, 10, high + LINE_PX / 2, 2 * SIDE_PX - 20)
  return new Promise(resolve => canvas.toBlob(resolve, "image/webp", 0.95))
}

/** The film, or null where its last frame was lost. @param {{ picture: any, ms: number }[]} shots @returns {Promise<Blob | null>} */
async function recorded(shots, settle = SETTLE_MS) {
  const images = [], parts = [], mimeType = filmKind(), canvas = document.createElement("canvas"), ctx = canvas.getContext("2d")
  for (const { picture } of [shots[0], shots[shots.length - 1]]) images.push(await createImageBitmap(picture))
  Object.assign(canvas, { width: images[0].width, height: images[0].height })
  const stream = /** @type {any} */ (canvas.captureStream(0)), [track] = stream.getVideoTracks()
  const recorder = new MediaRecorder(stream, { mimeType, videoBitsPerSecond: 4e6 })
  recorder.ondataavailable = ({ data }) => parts.push(data)
  const started = new Promise(resolve => { recorder.onstart = resolve }), stopped = new Promise(resolve => { recorder.onstop = resolve })
  const draw = async image => {
    ctx.drawImage(image, 0, 0)
    track.requestFrame()
    await Promise.race([painted(), pause(MOST_PAINT_MS)]) // a frame drawn over sooner is not recorded
  }
  let due = performance.now() + shots[0].ms
  recorder.start()
  await draw(images[0]) // a recorder starts with its first frame
  await within(FRAME_MS, started)
  for (const { picture, ms } of shots.slice(1)) {
    await pause(due - performance.now())
    due = performance.now() + ms
    const image = await createImageBitmap(picture)
    await draw(image)
    image.close()
  }
  await pause(due - performance.now())
  await draw(images[1]) // once more, so that the last one is held as the others
  await pause(settle) // a recorder that stops drops what it has not yet encoded
  recorder.stop()
  await within(FRAME_MS, stopped)
  track.stop()
  const file = new Blob(parts, { type: mimeType.split(";")[0] })
  if (await endsWith(file, images[1])) return file
  return settle > SETTLE_MS ? null : recorded(shots, 6 * settle)
}

const pause = ms => new Promise(resolve => setTimeout(resolve, Math.max(0, ms)))
const painted = () => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)))

// Whether a film ends with this picture; an error where this browser can't open it.
async function endsWith(file, last) {
  const src = URL.createObjectURL(file), video = Object.assign(document.createElement("video"), { muted: true, preload: "auto" })
  try {
    await within(FRAME_MS, new Promise((resolve, reject) => {
      Object.assign(video, { onloadeddata: resolve, onerror: () => reject(new Error(video.error?.message)), src })
    }))
    await within(FRAME_MS, seek(video, LONGEST_S))
    const [found, expected] = [video, last].map(coarse)
    return found.every((value, i) => Math.abs(value - expected[i]) < SAME)
  } finally {
    video.removeAttribute("src")
    URL.revokeObjectURL(src)
  }
}

function coarse(image) {
  const ctx = new OffscreenCanvas(8, 8).getContext("2d")
  ctx.imageSmoothingQuality = "high"
  ctx.drawImage(image, 0, 0, 8, 8)
  return [...ctx.getImageData(0, 0, 8, 8).data]
}

/** @param {Blob} file */
function download(file) {
  const href = URL.createObjectURL(file), name = `live-attention.${file.type.split("/")[1]}`
  Object.assign(document.createElement("a"), { href, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(href), 60000)
}
