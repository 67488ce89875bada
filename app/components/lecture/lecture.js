// Light or dark and lecture mode, as attributes of the page that lecture.css dresses; Escape leaves it, Page Up and Down turn the
// page. Tells Python the size of type and phone.

const root = document.documentElement
const OWN_ESCAPE = "[data-escape]" // a component that has something to undo first
const PHONE_PX = 640 // below it Streamlit stacks columns
const DRAWER_PX = 768 // below it Streamlit lays the menu over the page
const states = new WeakMap()
let page // that was shown last

export default function ({ data, parentElement, setTriggerValue }) {
  let s = states.get(parentElement)
  if (!s) {
    s = { end: new AbortController() }
    states.set(parentElement, s)
    window.addEventListener("resize", () => s.measure(), { signal: s.end.signal })
    s.menu = new MutationObserver(mend)
    s.menu.observe(document.body, { childList: true, subtree: true })
    mend()
    document.addEventListener("click", putAway, { signal: s.end.signal })
    document.addEventListener("click", lightOrDark, { signal: s.end.signal })
    root.addEventListener("keydown", event => s.key(event), { signal: s.end.signal, capture: true }) // before it closes
    document.addEventListener("scroll", down, { signal: s.end.signal, capture: true, passive: true })
  }
  if (page !== undefined && page !== data.page) document.querySelector("[data-testid=stMain]")?.scrollTo({ top: 0, behavior: "instant" })
  page = data.page
  root.dataset.mode = data.mode
  root.toggleAttribute("data-lecture", data.lecture)
  s.measure = () => {
    const scale = Math.max(1, Math.round(parseFloat(getComputedStyle(root).fontSize) / 4) / 4)
    const narrow = window.innerWidth <= PHONE_PX ? window.innerWidth : 0
    const high = scale > 1 ? Math.floor(window.innerHeight / 100) * 100 : 0
    if (scale !== data.scale || narrow !== data.narrow || high !== data.high) setTriggerValue("size", { scale, narrow, high })
  }
  s.key = event => {
    if (!data.lecture || taken(event)) return
    const path = event.composedPath()
    if (event.key === "Escape" && !path.some(node => node.matches?.(OWN_ESCAPE))) return setTriggerValue("left", true)
    const way = { PageUp: "before", PageDown: "after" }[event.key]
    if (!way) return
    event.preventDefault() // scrolling
    event.stopPropagation() // a slider that has the focus
    document.querySelector(`.st-key-${way} a`)?.click()
  }
  requestAnimationFrame(s.measure) // once the style sheet counts
  return () => {
    s.end.abort()
    s.menu.disconnect()
    states.delete(parentElement)
    root.removeAttribute("data-lecture")
  }
}

// Whether the page is being scrolled down: the bar of a lecture gives way.
let above = 0
function down({ target }) {
  if (target.dataset?.testid !== "stMain") return
  const top = target.scrollTop
  if (Math.abs(top - above) > 2) root.toggleAttribute("data-down", top > above && top > 40)
  above = top
}

// On a narrow screen the open menu covers the page that was chosen from it.
function putAway({ target }) {
  if (window.innerWidth > DRAWER_PX || !target.closest?.("[data-testid=stSidebarNavLink]")) return
  document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click()
}

// Only Streamlit's menu sets its theme without a new visit; in a lecture nobody sees it open.
function lightOrDark({ target }) {
  const asked = target.closest?.(".st-key-light_dark button")
  const menu = document.querySelector("[data-testid=stMainMenuButton]")
  if (!asked || !menu) return
  const wanted = root.dataset.mode === "dark" ? "Light" : "Dark"
  const choose = frames => {
    const item = document.querySelector(`[data-testid=stMainMenuItem-theme-${wanted}]`)
    if (!item && frames) return requestAnimationFrame(() => choose(frames - 1))
    item?.click()
    if (menu.getAttribute("aria-expanded") === "true") menu.click()
    asked.focus() // the menu took it
  }
  menu.click()
  choose(60)
}

// Streamlit 1.67 puts the groups of its menu, which hold the items, into one list: no list to a screen reader. Each group is one.
function mend() {
  for (const group of document.querySelectorAll("ul[data-testid=stSidebarNavItems] > :not(li, [role=list])")) {
    group.parentElement.setAttribute("role", "group")
    group.setAttribute("role", "list")
  }
}
