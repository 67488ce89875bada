// Where Live's frames come from: a camera, a clip or an image that a visitor opens, or the photo at hand.

import { animationOf, clipOf, isAnimated, isTurnedWebp } from "./live_clip_frames.js"
import { filmKind } from "./live_record_film.js"
import { frameNow } from "./live_worker_client.js"
import { say, showSource, within } from "./live_answer.js"

const MOST_PIXELS = 24e6 // a larger image takes a browser a second and a quarter of a gigabyte
const OPEN_MS = 30000
const ASKED = { width: { ideal: 640 }, height: { ideal: 480 } }

/** Why there is no camera here, as the name of a sentence; empty where there may be one. */
export const whyNoCamera = () => (!window.isSecureContext ? "insecure" : navigator.mediaDevices?.getUserMedia ? "" : "no camera")

export function stopSource(s) {
  const source = s.source
  source?.stream?.getTracks().forEach(track => track.stop())
  if (source?.video) Object.assign(source.video, { srcObject: null }).removeAttribute("src")
  if (source?.address) URL.revokeObjectURL(source.address)
  source?.bitmap?.close()
  source?.clip?.close()
  s.source = null
}

function adoptSource(s, source) {
  stopSource(s)
  Object.assign(s, { source, frozen: false, stamps: [], kept: false })
  s.mirrored = source.kind === "camera" && source.facing !== "environment"
  showSource(s)
  frameNow(s)
}

/** @param {any} s @param {"user" | "environment"} facing */
export async function openCamera(s, facing) {
  const why = whyNoCamera()
  if (why) return say(s, why)
  say(s, "asking")
  try {
    stopSource(s) // many phones open one camera at a time
    const stream = await navigator.mediaDevices.getUserMedia({ audio: false, video: { ...ASKED, facingMode: facing } })
    if (s.end.signal.aborted) return stream.getTracks().forEach(track => track.stop()) // the page was left meanwhile
    const video = Object.assign(document.createElement("video"), { muted: true, playsInline: true, srcObject: stream })
    await video.play()
    const cameras = (await navigator.mediaDevices.enumerateDevices()).filter(device => device.kind === "videoinput")
    const given = stream.getVideoTracks()[0].getSettings().facingMode || facing
    say(s, "")
    adoptSource(s, { kind: "camera", live: true, video, stream, facing: given, several: cameras.length > 1 })
  } catch (/** @type {any} */ error) {
    say(s, error.name === "NotAllowedError" ? "not allowed" : "no camera")
    openPhoto(s)
  }
}

/** @param {any} s @param {File | undefined} file */
export async function openFile(s, file) {
  if (!file) return
  say(s, "")
  try {
    if (file.type.startsWith("video/")) return await openClip(s, file)
    const bytes = new Uint8Array(await file.arrayBuffer())
    if (isTurnedWebp(bytes)) throw new Error("turned")
    const clip = await animationOf(file.type, bytes)
    if (clip) {
      await clip.show(0)
      if (clip.image.displayWidth * clip.image.displayHeight > MOST_PIXELS) throw clip.close(), new Error("too large")
      return adoptSource(s, { kind: "file", live: true, name: file.name, clip })
    }
    const bitmap = await createImageBitmap(file, { imageOrientation: "from-image" })
    if (bitmap.width * bitmap.height > MOST_PIXELS) throw new Error("too large")
    adoptSource(s, { kind: "file", name: file.name, bitmap })
    if (isAnimated(bytes)) say(s, "still")
  } catch {
    say(s, "not read", { name: file.name })
  }
}

async function openClip(s, file) {
  const address = URL.createObjectURL(file)
  const video = Object.assign(document.createElement("video"), { muted: true, loop: true, playsInline: true, src: address })
  await within(OPEN_MS, video.play())
  const source = { kind: "file", live: true, name: file.name, video, address, clip: /** @type {any} */ (null) }
  adoptSource(s, source)
  const clip = await clipOf(video) // from its first frames, while they play
  if (s.source !== source) return
  source.clip = clip
  showSource(s)
  if (!clip.told) say(s, "usual rate", { rate: clip.rate })
  else if (!filmKind()) say(s, "no recorder")
}

/** The photo that every page shows: the very pixels that Python gives the model, and the same part at its own sharpness. */
export async function openPhoto(s) {
  const { pixels, photo, key } = s.data
  try {
    const { early } = s, given = early?.key === key ? early.pictures : null
    if (given) early.pictures = null // the next time they may have been closed
    const fetched = () => Promise.all([pixels, photo].map(async url => {
      const answer = await fetch(url)
      return createImageBitmap(await answer.blob(), { colorSpaceConversion: "none", premultiplyAlpha: "none" })
    }))
    const [bitmap, sharp] = await (given?.catch(fetched) ?? fetched())
    if (s.data.key === key && !s.end.signal.aborted) adoptSource(s, { kind: "photo", bitmap, sharp, key })
  } catch {
    say(s, "broken", { reason: "photo" })
  }
}

/** The frame there is now, to be given away; null while a video has none. */
export async function grab({ video, bitmap, sharp, clip }) {
  await clip?.next?.()
  if (video && video.readyState < 2) return null
  const moving = video || clip?.image, [frame, view] = await Promise.all([
    (moving && asItStands(moving)) || createImageBitmap(moving || bitmap), sharp && createImageBitmap(sharp),
  ])
  return { bitmap: frame, sharp: view }
}

// A video's frame whose pixels can be copied, or null. Chromium keeps each bitmap that is made of one: half a gigabyte in minutes.
function asItStands(moving) {
  try {
    const frame = /** @type {any} */ (new VideoFrame(moving)), { visibleRect: { width, height } } = frame
    const turned = frame.rotation !== 0 || frame.flip || width !== frame.displayWidth || height !== frame.displayHeight
    if (!turned && !frame.format?.includes("A")) return frame
    frame.close()
  } catch {} // an older browser
  return null
}
