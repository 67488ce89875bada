// A curtain over one picture: left of it lies the heat of A, right of it that of B; moved by mouse, by a finger, by keys.

const STEP = 2, FAR = 10 // percent of the width

/** What `divider` does when it is dragged or has a key pressed; `move` is told the share of the width left of it, 0 to 1.
 * @param {HTMLElement} divider @param {HTMLElement} picture @param {(share: number) => void} move */
export function drawable(divider, picture, move) {
  const put = percent => {
    const at = Math.max(0, Math.min(100, percent))
    divider.style.left = `${at}%`
    divider.setAttribute("aria-valuenow", String(Math.round(at)))
    move(at / 100)
  }
  let held = null // where on the handle it was taken, in px
  divider.onpointerdown = e => {
    const box = divider.getBoundingClientRect()
    held = e.clientX - (box.left + box.width / 2)
    divider.setPointerCapture(e.pointerId)
    e.preventDefault()
    divider.focus({ preventScroll: true })
  }
  divider.onpointermove = e => {
    if (held === null) return
    const box = picture.getBoundingClientRect()
    put((100 * (e.clientX - held - box.left)) / box.width)
  }
  divider.onpointerup = divider.onpointercancel = () => (held = null)
  divider.onkeydown = e => {
    const to = moved(e.key, Number(divider.getAttribute("aria-valuenow")))
    if (to === null) return
    e.preventDefault()
    e.stopPropagation() // no page is turned, no layer changed
    put(to)
  }
  put(50)
}

/** Where a key moves a divider to, in percent; null for any other key.
 * @param {string} key @param {number} at */
export function moved(key, at) {
  const steps = { ArrowLeft: -STEP, ArrowDown: -STEP, ArrowRight: STEP, ArrowUp: STEP, PageDown: -FAR, PageUp: FAR }
  if (key === "Home") return 0
  if (key === "End") return 100
  return key in steps ? Math.max(0, Math.min(100, at + steps[key])) : null
}

/** Draw each side in its part of the picture.
 * @param {CanvasRenderingContext2D} ctx @param {number} share @param {number} wide @param {number} high
 * @param {[() => void, () => void]} sides */
export function inParts(ctx, share, wide, high, sides) {
  const edge = share * wide
  for (const [side, from, to] of /** @type {[number, number, number][]} */ ([[0, 0, edge], [1, edge, wide]])) {
    ctx.save()
    ctx.beginPath()
    ctx.rect(from, 0, to - from, high)
    ctx.clip()
    sides[side]()
    ctx.restore()
  }
}
