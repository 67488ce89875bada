// What a popover says is read beside its picture: where it would open over it, the page is scrolled until it has room below its button,
// and back when it is closed.

const OPENED_FRAMES = 60 // Streamlit's own opening takes a few
const EDGE_PX = 16

/** @param {any} event a click, before the popover is open */
export function makeRoom({ target }) {
  const button = target.closest?.(":st(main) :st(popover) button")
  if (!button || button.closest(".st-key-bar") || button.getAttribute("aria-expanded") === "true") return
  const main = button.closest(":st(main)")
  const wait = frames => {
    const body = /** @type {HTMLElement} */ (document.querySelector(":st(popover-body)"))
    if (body?.offsetHeight) lift(main, button, body)
    else if (frames) requestAnimationFrame(() => wait(frames - 1))
  }
  requestAnimationFrame(() => wait(OPENED_FRAMES))
}

function lift(main, button, body) {
  const { top, bottom } = button.getBoundingClientRect()
  const lacks = bottom + body.offsetHeight + EDGE_PX - window.innerHeight
  const by = Math.min(lacks, top - EDGE_PX)
  if (by <= 0) return
  const before = main.scrollTop, left = main.scrollHeight - main.clientHeight - main.scrollTop
  if (left < by) document.documentElement.style.setProperty("--popover-room", `${by - left}px`) // at the page's end
  main.scrollBy({ top: by, behavior: "instant" }) // Streamlit opens it below as soon as there is room
  const there = main.scrollTop
  const closed = new MutationObserver(() => {
    if (button.getAttribute("aria-expanded") === "true") return
    closed.disconnect()
    const stayed = main.scrollTop === there // else a person has scrolled since
    document.documentElement.style.removeProperty("--popover-room")
    if (stayed) main.scrollTo({ top: before, behavior: "instant" })
  })
  closed.observe(button, { attributeFilter: ["aria-expanded"] })
}
