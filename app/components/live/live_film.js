// Live's film: every frame of a clip beside its heat, with its answer, recorded in this browser at the clip's own pace.

import { say } from "./live_answer.js"
import { drawHeat } from "./live_draw.js"
import { stepTo } from "./live_clip.js"
import { shownShare } from "./live_read.js"

const SIDE_PX = 480, LINE_PX = 40, MOST_FRAMES = 600, FRAME_MS = 30000
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
    if (shots.length && !gone()) download(await recorded(shots))
    if (!s.failed) say(s, shots.length && !gone() ? "filmed" : "")
  } catch (/** @type {any} */ error) {
    say(s, "not filmed", { reason: String(error?.message || error) })
  }
  s.filming = null
}

// The answer to the frame that is asked for next.
function answerOf(s) {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`${FRAME_MS / 1000} s`)), FRAME_MS)
    s.heard = message => {
      if (s.stepped || s.asked < s.since || message.id < s.since) return
      clearTimeout(late)
      s.heard = null
      resolve(message)
    }
  })
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

/** @param {{ picture: any, ms: number }[]} shots */
async function recorded(shots) {
  const first = await createImageBitmap(shots[0].picture), parts = [], mimeType = filmKind()
  const canvas = Object.assign(document.createElement("canvas"), { width: first.width, height: first.height }), ctx = canvas.getContext("2d")
  const stream = /** @type {any} */ (canvas.captureStream(0)), [track] = stream.getVideoTracks()
  const recorder = new MediaRecorder(stream, { mimeType, videoBitsPerSecond: 4e6 })
  recorder.ondataavailable = ({ data }) => parts.push(data)
  const stopped = new Promise(resolve => { recorder.onstop = resolve })
  recorder.start()
  let due = performance.now()
  for (const { picture, ms } of shots) {
    const image = await createImageBitmap(picture)
    ctx.drawImage(image, 0, 0)
    image.close()
    track.requestFrame()
    due += ms
    await new Promise(resolve => setTimeout(resolve, Math.max(0, due - performance.now())))
  }
  track.requestFrame() // the last one is held as long as the others
  recorder.stop()
  await stopped
  track.stop()
  return new Blob(parts, { type: mimeType.split(";")[0] })
}

/** @param {Blob} file */
function download(file) {
  const href = URL.createObjectURL(file), name = `live-attention.${file.type.split("/")[1]}`
  Object.assign(document.createElement("a"), { href, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(href), 60000)
}
