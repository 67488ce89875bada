// Light or dark, lecture mode and the page, as attributes of the document that page_style.css dresses; Escape leaves the lecture, Page Up
// and Down turn the page. Tells Python the size of type and phone.

import { taken, typed } from "../keys.js"
import { fullScreen, leave, numberedPicture, watchPointer } from "./full_screen.js"
import { pageSize } from "./page_size.js"
import { keepPercentSigns } from "./percent_signs.js"
import { takeDrops } from "./photo_drop.js"
import { makeRoom } from "./popover_scroll.js"

const root = document.documentElement
const OWN_ESCAPE = "[data-escape], [data-region]" // a component that has something to undo first
const DRAWER_PX = 768 // below it Streamlit lays the menu over the page
const ELSEWHERE = ":st(popover-body) a:st(page-link), .st-key-desk_poll button" // what leads from a popover to another page
const TOUCH_PX = 44 // a finger's target
const ANSWERED_MS = 10000 // the server's, on a slow line
const IDLE_MS = 3000 // so long after the pointer has moved the bar of a lecture is seen
const UNFOLDED_MS = 1000 // Streamlit's own animation takes half as long
const states = new WeakMap()
const pushed = new WeakMap() // rows of links: the page they were pushed to, and how far
/** @param {string} selector @returns {HTMLElement | null} */
const find = selector => document.querySelector(selector)
let page, lecture, chosen // what was shown last
let paths = [] // of the page, of its room in the menu, and of the room's other pages
let far = {} // what is said of options in menus, by what they are called
let words = { drop: "", limit: "" }
let idle // the timer of a pointer that rests

export default function ({ data, parentElement, setTriggerValue }) {
  let s = states.get(parentElement)
  if (!s) {
    s = { end: new AbortController() }
    states.set(parentElement, s)
    window.addEventListener("resize", () => s.measure(), { signal: s.end.signal })
    keepPercentSigns(document.body)
    s.menu = new MutationObserver(records => {
      for (const { type, target, addedNodes } of records) (type === "characterData" ? [target] : addedNodes).forEach(keepPercentSigns)
      mend()
    })
    s.menu.observe(document.body, { childList: true, characterData: true, subtree: true, attributeFilter: ["data-collapsed"] })
    document.addEventListener("click", putAway, { signal: s.end.signal })
    document.addEventListener("click", outOfTheWay, { signal: s.end.signal })
    for (const hear of [lightOrDark, moreActions]) document.addEventListener("click", hear, { signal: s.end.signal, capture: true }) // before Python is asked
    root.addEventListener("keydown", event => s.key(event), { signal: s.end.signal, capture: true }) // before it closes
    for (const kind of ["pointermove", "pointerdown"]) document.addEventListener(kind, awake, { signal: s.end.signal, passive: true })
    takeDrops(() => words.drop, s.end.signal)
    watchPointer(s.end.signal)
    for (const kind of ["keydown", "click", "scroll", "pointermove"]) document.addEventListener(kind, hush, { signal: s.end.signal, capture: true, passive: true })
    document.addEventListener("click", onward, { signal: s.end.signal })
    document.addEventListener("click", answerIntoView, { signal: s.end.signal, capture: true })
    document.addEventListener("click", intoView, { signal: s.end.signal, capture: true }) // before it is open
    document.addEventListener("click", makeRoom, { signal: s.end.signal, capture: true })
    document.addEventListener("scroll", down, { signal: s.end.signal, capture: true, passive: true })
  }
  const another = page !== undefined && page !== data.page
  if (another || (data.lecture && lecture === false)) find(":st(main)")?.scrollTo({ top: 0, behavior: "instant" })
  const left = lecture && !data.lecture
  if (page !== data.page) arrives()
  if (another) delete root.dataset.more
  if (another) root.style.removeProperty("--popover-room")
  if (chosen !== undefined && chosen !== data.chosen) closeDrawer()
  if (data.lecture && !lecture) awake()
  ;({ page, lecture, chosen, far, paths, words } = data)
  mend() // with what has just been told: the page may not change again until it is touched
  Object.assign(root.dataset, { mode: data.mode, page })
  root.toggleAttribute("data-lecture", data.lecture)
  if (left) document.querySelector(":st(sidebar-content)")?.scrollTo({ top: 0, behavior: "instant" }) // to the pages, not to the switch
  s.measure = () => {
    const { scale, narrow, high } = pageSize()
    if (scale !== data.scale || narrow !== data.narrow || high !== data.high) setTriggerValue("size", { scale, narrow, high })
  }
  s.key = event => {
    if (event.key === "Escape" && document.fullscreenElement) { // that and no more: what is chosen stays
      leave()
      event.preventDefault()
      return event.stopPropagation()
    }
    if (event.key === "?" && !typed(event)) {
      if (document.fullscreenElement) leave() // it would cover them
      return setTriggerValue("keys", true)
    }
    if (data.lecture && numberedPicture(event)) {
      event.preventDefault()
      return event.stopPropagation()
    }
    if (!typed(event) && fullScreen(event)) return event.preventDefault()
    if (!data.lecture || taken(event)) return
    const path = event.composedPath()
    if (event.key === "Escape" && !path.some(node => node.matches?.(OWN_ESCAPE))) return setTriggerValue("left", true)
    const way = { PageUp: "before", PageDown: "after" }[event.key]
    if (!way) return
    event.preventDefault() // scrolling
    event.stopPropagation() // a slider that has the focus
    find(`.st-key-${way} a`)?.click()
  }
  requestAnimationFrame(s.measure) // once the style sheet counts
  return () => {
    s.end.abort()
    s.menu.disconnect()
    states.delete(parentElement)
    root.removeAttribute("data-lecture")
  }
}

// Whether the page comes in for the first time: what stands below something that is not there yet is shown after it.
function arrives() {
  const app = find(":st(app)")
  const runs = () => !["notRunning", undefined].includes(app?.dataset.testScriptState)
  if (!runs()) return
  root.dataset.arriving = ""
  const state = new MutationObserver(() => {
    if (runs()) return
    state.disconnect()
    delete root.dataset.arriving
  })
  state.observe(app, { attributes: true, attributeFilter: ["data-test-script-state"] })
}

// Whether the page is being scrolled down: the bar of a lecture gives way.
let above = 0
function down({ target }) {
  if (!target.matches?.(":st(main)")) return
  const top = target.scrollTop
  if (Math.abs(top - above) > 2) root.toggleAttribute("data-down", top > above && top > 40)
  above = top
}

// Whether the pointer has moved of late: else the bar of a lecture gives way, too.
/** @param {any} [event] */
function awake(event) {
  if (event?.type === "pointermove" && !event.movementX && !event.movementY) return
  root.removeAttribute("data-idle")
  clearTimeout(idle)
  idle = setTimeout(() => root.setAttribute("data-idle", ""), IDLE_MS)
}

// On a narrow screen the open menu covers the page that was chosen from it, and the photo.
function putAway({ target }) {
  if (target.closest?.(`:st(sidebar-nav-link), ${ELSEWHERE}`)) closeDrawer()
}

function closeDrawer() {
  if (window.innerWidth > DRAWER_PX) return
  if (find(":st(popover-body)")) escape()
  find(":st(sidebar)[data-collapsed=false] :st(sidebar-collapse-button) button")?.click()
}

// A ready pair is shown above its card, a poll at the top, and a page below the menu that led to it.
function outOfTheWay({ target }) {
  if (target.closest?.(":is([class*=st-key-ready_], .st-key-to_poll, .st-key-desk_poll) button")) find(":st(main)")?.scrollTo({ top: 0, behavior: "instant" })
  if (target.closest?.(ELSEWHERE)) escape()
}

// What Streamlit has opened over the page closes.
const escape = () => document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", cancelable: true }))

// What Streamlit says of the place under the pointer stays while the pointer rests there, over the page that a key has turned:
// once something was done it is hidden, until the pointer moves, Tab goes on, or the sign itself is touched.
/** @param {any} event */
function hush({ type, key, target, movementX, movementY }) {
  if (type === "pointermove") return movementX || movementY ? root.removeAttribute("data-hushed") : undefined
  const asked = target.closest?.(":st(tooltip-icon)") && !target.closest("a, :st(any-button), [aria-haspopup]")
  root.toggleAttribute("data-hushed", key !== "Tab" && !asked)
  if (type === "keydown") root.setAttribute("data-keys-known", "")
}

// Only Streamlit's menu sets its theme without a new visit; nobody sees it open. The page is drawn again by `light_or_dark.js`, once.
function lightOrDark(event) {
  const asked = event.target.closest?.(".st-key-light_dark button")
  const menu = find(":st(main-menu-button)")
  if (!asked || !menu) return
  event.stopPropagation()
  const wanted = root.dataset.mode === "dark" ? ":st(theme-light)" : ":st(theme-dark)"
  const choose = frames => {
    const item = find(wanted)
    if (!item && frames) return requestAnimationFrame(() => choose(frames - 1))
    item?.click()
    if (menu.getAttribute("aria-expanded") === "true") menu.click()
    asked.focus() // the menu took it
    setTimeout(() => delete root.dataset.theming, UNFOLDED_MS) // it fades
  }
  root.dataset.theming = ""
  menu.click()
  choose(60)
}

// On a phone, what stands beside the title elsewhere is shown below it, and put away again.
function moreActions(event) {
  if (!event.target.closest?.(".st-key-more button")) return
  event.stopPropagation()
  root.toggleAttribute("data-more")
  mend()
}

// The sign at the edge of a phone's bar, which is drawn by a style sheet: what it points to comes in.
function onward({ target, clientX }) {
  if (!target.matches?.(".st-key-explorer_controls") || clientX < target.getBoundingClientRect().right - TOUCH_PX) return
  target.scrollBy({ left: 0.8 * target.clientWidth, behavior: calm() ? "instant" : "smooth" })
}

// A guess opens its answer, which may lie below the edge: it comes up.
function answerIntoView({ target }) {
  const guess = target.closest?.("button") && target.closest("[class*=st-key-guess_]")
  const key = guess && [...guess.classList].find(name => name.startsWith("st-key-guess_")).replace("guess_", "answer_")
  if (!key) return
  const come = new MutationObserver(() => {
    const answer = find(`[class*="${key}_True"] details[open]`)
    if (!answer) return
    come.disconnect()
    intoSight(answer)
  })
  come.observe(find(":st(main)"), { childList: true, subtree: true })
  setTimeout(() => come.disconnect(), ANSWERED_MS)
}

// In a lecture, what is opened is seen: it comes up from below the edge as it unfolds.
function intoView({ target }) {
  const box = target.closest?.(":st(expander) summary")?.parentElement
  if (box && !box.open && root.hasAttribute("data-lecture")) intoSight(box)
}

function intoSight(box) {
  const sizes = new ResizeObserver(() => {
    const block = box.offsetHeight > window.innerHeight - TOUCH_PX ? "start" : "nearest"
    box.scrollIntoView({ block, behavior: calm() ? "instant" : "smooth" })
  })
  sizes.observe(box)
  setTimeout(() => sizes.disconnect(), UNFOLDED_MS)
}

const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches

// Streamlit 1.67 marks in its menu only a page that is there itself, and no link of a page: the room is marked, and the page in it.
function mark() {
  for (const link of document.querySelectorAll(":st(sidebar-nav-link), :is(.st-key-room, :st(popover-body)) a:st(page-link)")) {
    const path = link.getAttribute("href").replace(/[?#].*/, "").split("/").pop()
    const room = paths[1] === path && link.matches(":st(sidebar-nav-link)") ? "true" : null
    const now = paths[0] === path ? "page" : room
    below(link, paths.slice(1).includes(path))
    if (now) intoRow(link)
    if (link.getAttribute("aria-current") === now) continue
    if (now) link.setAttribute("aria-current", now)
    else link.removeAttribute("aria-current")
  }
}

// The menu has the pages of all rooms below their room; those of this one are seen (`static/head.html`).
function below(link, here) {
  const item = link.closest("li")
  if (item && item.hasAttribute("data-here") !== here) item.toggleAttribute("data-here", here)
}

// A row that is longer than a phone is wide is pushed to the page that is shown, until a person pushes it elsewhere.
function intoRow(link) {
  const row = window.innerWidth <= DRAWER_PX && link.closest(".st-key-room")
  const before = row && pushed.get(row)
  if (!row || (before?.path === paths[0] && Math.abs(row.scrollLeft - before.left) > 1)) return
  const over = link.getBoundingClientRect().right - row.getBoundingClientRect().right
  if (over <= 0) return
  row.scrollLeft += over
  pushed.set(row, { path: paths[0], left: row.scrollLeft })
}

function mend() {
  mark()
  // As attributes: a style sheet that asked for them by :has would style the whole page again at every change of anything.
  const menu = find(":st(sidebar)")
  const shut = menu?.dataset.collapsed === "true" ? "shut" : "open"
  if (root.dataset.menu !== shut) root.dataset.menu = shut
  find(".st-key-more button")?.setAttribute("aria-expanded", String(root.hasAttribute("data-more")))
  root.toggleAttribute("data-embedded", !find(":st(main-menu-button)"))
  for (const box of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(":st(file-dropzone-instructions) > div"))) {
    const mb = /^\d+/.exec(box.textContent)
    if (mb) box.dataset.limit = words.limit.replace("{mb}", mb[0])
  }
  for (const option of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[role=listbox] [role=option]"))) {
    const said = far[option.textContent]
    if (said) option.dataset.far = said
    else delete option.dataset.far // a list that scrolls uses its rows again
  }
}
