// Full screen for any picture of a page, and by number for numbered ones in a lecture: the key F while it is pointed at or has the focus, else the largest in sight; F or Escape leaves it.

import { taken } from "../keys.js"

const WHOLE = "section, figure, li" // of a component: the smallest one around a picture is what a person means
const PICTURE = "canvas, img, svg"
const CHART = ":st(plotly-chart), :st(image)" // Streamlit's own, which are enlarged as they are
const LEAST_PX = 120 // what is smaller is an icon or a colour bar
const ALONE = "[data-alone]" // the numbered picture that is shown of its figure, while that fills the screen
const WAYS = { ArrowRight: 1, ArrowDown: 1, PageDown: 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1 }
const ROOM = 0.96 // of the screen
const STYLE = `:fullscreen {
  --beside-picture: 2.75rem; --beside-photo: 8.5rem; box-sizing: border-box; margin: 0; padding: .5rem; overflow: auto;
  background: var(--st-background-color); color: var(--st-text-color);
}
figure:fullscreen { display: grid; place-content: safe center; grid-template-columns: minmax(0, 1fr); justify-items: center; max-width: none !important; }
section:fullscreen .photo { margin-inline: auto; }
li:fullscreen { display: grid; place-content: safe center; justify-items: center; width: 100%; max-width: none; list-style: none; }
li:fullscreen img { width: auto; height: calc(100vh - 7rem); max-width: 100%; object-fit: contain; }
figure:fullscreen > .frame { width: min(100%, (100vh - var(--beside-picture)) * var(--shape, 1)); }`
let under = [] // what the pointer is over, the innermost first

const large = ({ width, height }) => width > LEAST_PX && height > LEAST_PX
/** @param {any} node */
const holdsPicture = node => [...node.querySelectorAll(PICTURE)].some(one => large(one.getBoundingClientRect()))

/** @param {EventTarget[]} path what an event went through @returns {any} the picture among it */
export const pictureAmong = path => path.find(node => node instanceof Element && (node.matches(CHART) ||
  (node.matches(WHOLE) && node.getRootNode() instanceof ShadowRoot && holdsPicture(node))))

/** Whether this key was F, and a picture filled the screen for it, or does no longer.
 * @param {KeyboardEvent} event */
export function fullScreen(event) {
  if (event.key.toLowerCase() !== "f" || event.ctrlKey || event.metaKey || event.altKey) return false
  if (document.fullscreenElement) {
    leave()
    return true
  }
  const picture = pictureAmong([...event.composedPath(), ...under]) ?? pictureAmong(largestInSight())
  if (!picture?.requestFullscreen) return false
  fill(picture.matches(CHART) ? withTitle(picture) : picture)
  return true
}

/** In a lecture, of a page whose pictures are numbered: a number fills the screen with that picture, the same again or 0 leaves it, and from one
 * picture arrow keys, Page Down and Page Up lead to the others. True where this key was one of them; past the last the page is turned.
 * @param {KeyboardEvent} event */
export function numberedPicture(event) {
  const way = WAYS[event.key], digit = /^[0-9]$/.test(event.key)
  if ((!way && !digit) || taken(event)) return false
  if (way && !document.fullscreenElement) return false
  const path = /** @type {any[]} */ (event.composedPath()), pictures = numberedPictures(), now = document.fullscreenElement ? pictures.findIndex(one => one.matches(ALONE)) : -1
  if (way && (now < 0 || (event.key.startsWith("Arrow") && path.some(node => node.matches?.("input, canvas[tabindex]"))))) return false
  const next = way ? now + way : Number(event.key) - 1
  if (!pictures.length || (digit && next >= pictures.length)) return false
  for (const [i, one] of pictures.entries()) one.toggleAttribute("data-alone", i === next && next !== now)
  if (pictures[next] && next !== now) now < 0 && fill(pictures[next].closest("figure"))
  else leave()
  return next < pictures.length || event.key !== "PageDown"
}

const numberedPictures = () => [...document.querySelectorAll(":st(main) *")].flatMap(one => [...(one.shadowRoot?.querySelectorAll("[data-number]") ?? [])])

let left = Promise.resolve(), filling = 0 // what leaves the screen is waited for before it is filled again

/** Of the screen, whatever has filled it below. */
export function leave() {
  left = left.then(async () => {
    while (document.fullscreenElement && !filling) await document.exitFullscreen()
  }).catch(() => {})
}

/** @param {any} picture */
function fill(picture) {
  if (picture.getRootNode() instanceof ShadowRoot) dress(picture.getRootNode())
  filling++
  left = left.then(() => picture.requestFullscreen()).catch(forgetAlone).finally(() => filling--) // a browser may not allow it
}

function forgetAlone() {
  for (const one of numberedPictures()) one.removeAttribute("data-alone")
}

/** A chart of Streamlit's with its title, where both are in a block of their own; it is enlarged as it is, so that its words grow, too.
 * @param {Element} chart */
function withTitle(chart) {
  const wrapper = chart.closest(":st(layout-wrapper)"), alone = wrapper?.querySelectorAll(CHART).length === 1 && !wrapper.querySelector("button, input")
  const whole = /** @type {HTMLElement} */ (alone ? wrapper : chart.closest(":st(element)") ?? chart)
  const { width, height } = whole.getBoundingClientRect()
  whole.dataset.whole = ""
  whole.style.setProperty("--whole-wide", `${width}px`)
  const fit = () => whole.style.setProperty("--whole-fit", String(ROOM * Math.min(window.innerWidth / width, window.innerHeight / height)))
  fit()
  window.addEventListener("resize", fit)
  document.addEventListener("fullscreenchange", function left() {
    if (document.fullscreenElement) return fit()
    window.removeEventListener("resize", fit)
    document.removeEventListener("fullscreenchange", left)
    delete whole.dataset.whole
  })
  return whole
}

/** What an event on the picture that holds most of the screen would go through. */
function largestInSight() {
  const all = root => [...root.querySelectorAll("*")].flatMap(one => (one.shadowRoot ? [...all(one.shadowRoot)] : one.matches(PICTURE) ? [one] : []))
  const seen = one => {
    const box = one.getBoundingClientRect()
    const high = Math.min(box.bottom, window.innerHeight) - Math.max(box.top, 0)
    return large(box) && high > 0 ? high * box.width : 0
  }
  const pictures = all(document.querySelector(":st(main)") ?? document).map(one => ({ one, seen: seen(one) })).sort((a, b) => b.seen - a.seen)
  const path = []
  for (let node = pictures[0]?.seen ? pictures[0].one : null; node; node = node.parentElement ?? node.getRootNode().host) path.push(node)
  return path
}

/** @param {AbortSignal} signal */
export function watchPointer(signal) {
  document.addEventListener("fullscreenchange", () => {
    if (!document.fullscreenElement && !filling) forgetAlone()
  }, { signal })
  document.addEventListener("pointermove", event => { under = event.composedPath() }, { signal, capture: true, passive: true })
}

const dressed = new WeakSet()
function dress(shadow) {
  if (dressed.has(shadow)) return
  dressed.add(shadow)
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(STYLE)
  shadow.adoptedStyleSheets = [...shadow.adoptedStyleSheets, sheet]
}
