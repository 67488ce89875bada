// Heat on a photo, as `vitcore/figures/heat_overlay.py` makes it, where a pointer is on it, and the bare photo while it is held down.

export const BARE_MS = 250 // a press so long is no click
export const DRAWN = "drawn" // said by a press that draws a region out (`region_selection.js`)
export const LEAST_TOP = 2.5, TOWERS = 5, FEW = 40 // see there

// A map's colours, a pixel a patch (of `source`: x, y, width, height; several fade into each other), and the photo's detail on top.
// Nothing until the detail is there: without it the colours hide the photo.
export function heatOnPhoto(ctx, maps, detail, wide, high) {
  if (!there(detail)) return
  ctx.save()
  ctx.imageSmoothingEnabled = false
  for (const { image, source, part = 1 } of maps) {
    ctx.globalAlpha = part
    if (source) ctx.drawImage(image, ...source, 0, 0, wide, high)
    else ctx.drawImage(image, 0, 0, wide, high)
  }
  ctx.globalAlpha = 1
  ctx.imageSmoothingEnabled = true
  ctx.imageSmoothingQuality = "high"
  ctx.globalCompositeOperation = "lighter" // the sum of both
  ctx.drawImage(detail, 0, 0, wide, high)
  ctx.restore()
}

/** Whether an image has come; a canvas is there when something is on it.
 * @param {HTMLImageElement | HTMLCanvasElement | null | undefined} image */
export const there = image => Boolean(image && ("naturalWidth" in image ? image.complete && image.naturalWidth : image.width))

/** The top of the colour scale of amounts, from index `from` on: `scale_top` in Python.
 * @param {Float32Array} values @param {number} from @param {number} even */
export function scaleTop(values, from, even) {
  const sorted = Float64Array.from(values.subarray(from)).sort()
  const most = sorted[sorted.length - 1]
  const quantile = share => {
    const at = share * (sorted.length - 1), below = Math.floor(at)
    return sorted[below] + (at - below) * ((sorted[below + 1] ?? most) - sorted[below])
  }
  const usual = TOWERS * quantile(0.95)
  const end = sorted.length >= FEW && usual > 0 && most > usual ? Math.min(quantile(0.98), usual) : most
  return Math.max(end, LEAST_TOP * even)
}

let pointer = { clientX: NaN, clientY: NaN } // where it was last
const notePointer = event => { pointer = event }
for (const name of ["pointermove", "pointerdown", "pointerup"]) globalThis.addEventListener?.(name, notePointer, { capture: true, passive: true })

/** Where an event is, in px. Browsers round a click's own place down to whole px: it would choose what lies beside what the
 * pointer has lit up.
 * @param {{ clientX: number, clientY: number }} event */
export function placeOf(event) {
  const near = Math.abs(pointer.clientX - event.clientX) < 1 && Math.abs(pointer.clientY - event.clientY) < 1
  return near ? pointer : event
}

/** While the pointer (a finger, too) or the key P is held down on `element`, `show(true)`, and then `show(false)`.
 * What it gives says, once, whether the click that comes now was such a press.
 * @param {HTMLElement} element @param {(bare: boolean) => void} show */
export function holding(element, show) {
  let timer = 0, held = false, bare = false
  const turn = on => {
    clearTimeout(timer)
    if (on !== bare) show((bare = on))
  }
  element.addEventListener("pointerdown", () => {
    held = false
    clearTimeout(timer)
    timer = setTimeout(() => turn((held = true)), BARE_MS)
  })
  for (const name of ["pointerup", "pointercancel", "pointerleave", "blur", DRAWN]) element.addEventListener(name, () => turn(false))
  element.addEventListener("contextmenu", event => held && event.preventDefault())
  element.addEventListener("keydown", event => {
    if (event.key.toLowerCase() !== "p" || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    turn(true)
  })
  element.addEventListener("keyup", event => event.key.toLowerCase() === "p" && turn(false))
  return () => {
    const was = held
    held = false
    return was
  }
}

/** A canvas as large as it is shown, or `high`, emptied, to be drawn on in CSS pixels.
 * @param {HTMLCanvasElement} canvas @param {number} high */
export function canvasInPx(canvas, high = canvas.clientHeight) {
  const wide = canvas.clientWidth, dpr = window.devicePixelRatio || 1
  const size = { width: Math.round(wide * dpr), height: Math.round(high * dpr) }
  if (canvas.width !== size.width || canvas.height !== size.height) Object.assign(canvas, size)
  const ctx = canvas.getContext("2d")
  ctx.setTransform(dpr, 0, 0, dpr, 0, 0)
  ctx.clearRect(0, 0, wide, high)
  return { ctx, wide, high }
}
