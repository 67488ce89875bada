// Live's clips walked frame by frame: a video by seeking, an animated image (GIF, WebP, PNG) by the browser's own decoder of frames.

import { clamp, fillIn } from "../text_formatting.js"
import { frameNow } from "./live_worker_client.js"
import { freeze } from "./live_pointer_and_keys.js"

const RATES = [1, 60], USUAL_RATE = 25, MEASURED = 12, MOST_MS = 2000
export const LONGEST_S = 1e7
const HELD_MS = 100 // what browsers hold a frame of an animated image that says nothing

/** Frames a second, from the times of frames that were shown: the lower quartile of gaps, for under load some are skipped.
 * @param {number[]} times in seconds */
export function rateOf(times) {
  const gaps = times.slice(1).map((time, i) => time - times[i]).filter(gap => gap > 1e-3).sort((a, b) => a - b)
  return gaps.length ? Math.min(RATES[1], Math.max(RATES[0], Math.round(1 / gaps[Math.floor(gaps.length / 4)]))) : USUAL_RATE
}

/** Whether an image file holds several frames, by its bytes, where the browser has no decoder that says so.
 * @param {Uint8Array} bytes */
export function isAnimated(bytes) {
  const text = new TextDecoder("latin1").decode(bytes), at = word => text.indexOf(word) + 1 || Infinity
  if (text.startsWith("GIF8")) return (text.match(/!\xf9\x04[^]{4}\0[,!]/g) ?? []).length > 1 // graphic control extensions
  if (text.startsWith("PNG", 1)) return at("acTL") < at("IDAT")
  return (text.startsWith("WEBP", 8) && at("ANIM") < at("ANMF")) || text.startsWith("ftypavis", 4)
}

/** Whether a WebP file's EXIF says to turn it: Python does, Chromium does not.
 * @param {Uint8Array} bytes */
export function isTurnedWebp(bytes) {
  const latin = new TextDecoder("latin1")
  if (latin.decode(bytes.subarray(8, 12)) !== "WEBP") return false
  const text = latin.decode(bytes), exif = text.indexOf("EXIF"), start = exif + text.slice(exif).search(/II\*\0|MM\0\*/)
  if (exif < 0 || start < exif) return false
  try {
    const view = new DataView(bytes.buffer, bytes.byteOffset + start), little = text[start] === "I", at = view.getUint32(4, little)
    const tags = Array.from({ length: view.getUint16(at, little) }, (_, i) => at + 2 + 12 * i)
    return tags.some(tag => view.getUint16(tag, little) === 0x0112 && view.getUint16(tag + 8, little) > 1)
  } catch {
    return false // damaged: nobody turns it
  }
}

/** An animated image as a clip; null for a file with one frame, and where the browser has no decoder of frames. @param {string} type @param {Uint8Array} bytes */
export async function animationOf(type, bytes) {
  const Decoder = /** @type {any} */ (globalThis).ImageDecoder
  if (!Decoder || !(await Decoder.isTypeSupported(type))) return null
  const decoder = new Decoder({ data: bytes, type })
  await decoder.tracks.ready // first: what is completed sooner has no track yet
  await decoder.completed
  const count = decoder.tracks.selectedTrack.frameCount
  if (count < 2) return decoder.close(), null
  const clip = {
    count, at: 0, until: 0, paused: false, image: null, heldMs: HELD_MS,
    async show(at) {
      const { image } = await decoder.decode({ frameIndex: at })
      clip.image?.close()
      Object.assign(clip, { image, at, heldMs: image.duration / 1000 || HELD_MS })
    },
    // While it plays, each frame comes in turn, none before its time.
    async next() {
      if (clip.paused || performance.now() < clip.until) return
      await clip.show(clip.until ? (clip.at + 1) % count : 0)
      clip.until = performance.now() + clip.heldMs
    },
    close() {
      clip.image?.close()
      decoder.close()
    },
  }
  return clip
}

/** A video that plays, as a clip. @param {any} video */
export async function clipOf(video) {
  const told = Boolean(video.requestVideoFrameCallback), rate = rateOf(await timesOf(video))
  if (!Number.isFinite(video.duration)) await seek(video, LONGEST_S) // browsers' own recordings do not say how long they are
  const count = Math.max(1, Math.round(video.duration * rate))
  return { count, rate, told, at: 0, heldMs: 1000 / rate, show: at => seek(video, (at + 0.5) / rate), close() {} }
}

function timesOf(video) {
  const times = []
  return new Promise(resolve => {
    setTimeout(() => resolve(times), MOST_MS)
    const hear = (_, { mediaTime }) => {
      times.push(mediaTime)
      times.length < MEASURED ? video.requestVideoFrameCallback(hear) : resolve(times)
    }
    video.requestVideoFrameCallback ? video.requestVideoFrameCallback(hear) : resolve(times)
  })
}

/** @param {any} video @param {number} seconds */
export function seek(video, seconds) {
  return new Promise((resolve, reject) => {
    video.addEventListener("seeked", () => resolve(undefined), { once: true })
    video.addEventListener("error", reject, { once: true })
    video.currentTime = seconds
  })
}

/** The clip stands at this frame, which the model sees next. @param {any} s @param {number} index */
export async function stepTo(s, index) {
  const source = s.source, clip = source?.clip
  if (!clip) return
  freeze(s, true)
  const at = (clip.at = clamp(index, clip.count))
  showClip(s)
  s.root.dataset.asked = "" // until the model is asked for this frame
  await clip.show(at)
  if (s.source !== source || clip.at !== at) return // another frame is asked for meanwhile
  s.stepped = true
  frameNow(s)
}

/** @param {any} s */
export function listenClip(s) {
  const q = q => s.root.querySelector(q)
  q("[data-act=back]").onclick = () => stepTo(s, clipAt(s) - 1)
  q("[data-act=onward]").onclick = () => stepTo(s, clipAt(s) + 1)
  q(".scrubber").oninput = event => stepTo(s, Number(event.target.value))
}

/** The frame that a clip is at, also while it plays. */
export function clipAt({ source }) {
  const { clip, video } = source ?? {}
  return clip && video && !video.paused ? clamp(Math.floor(video.currentTime * clip.rate), clip.count) : clip?.at ?? 0
}

/** @param {any} s */
export function showClip(s) {
  const clip = s.source?.clip, q = q => s.root.querySelector(q)
  q(".clip").hidden = !clip || s.failed
  if (!clip) return
  const at = clipAt(s)
  clip.at = at
  Object.assign(q(".scrubber"), { max: String(clip.count - 1), value: String(at) })
  q(".clip output").textContent = fillIn(s.data.words["frame of"], { at: at + 1, count: clip.count })
}
