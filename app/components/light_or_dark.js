// Tells Python when the page is light and the figures were drawn for dark, or the other way round; tells the page its language.

export default function ({ data, parentElement, setTriggerValue }) {
  document.documentElement.lang = data.lang
  keep(data.ticket)
  const here = new URL(window.location.href)
  for (const [name, said, right] of data.mend) {
    if (here.searchParams.get(name) !== said) continue
    if (right) here.searchParams.set(name, right)
    else here.searchParams.delete(name)
    window.history.replaceState(window.history.state, "", here)
  }
  const paint = document.createElement("canvas").getContext("2d")
  paint.fillStyle = getComputedStyle(parentElement.querySelector("i")).getPropertyValue("--st-background-color")
  const [r, g, b] = paint.fillStyle.match(/[0-9a-f]{2}/gi).map(hex => parseInt(hex, 16))
  const mode = 0.2126 * r + 0.7152 * g + 0.0722 * b < 128 ? "dark" : "light"
  if (mode !== data.mode) setTriggerValue("mode", mode)
}

// For a reload of this tab, and for nobody else (`static/head.html` shows it); what was shown has been seen.
function keep(ticket) {
  try {
    sessionStorage.setItem("inside-vit-visit", ticket)
    document.cookie = "inside_vit_visit=; path=/; max-age=0"
  } catch { /* a browser that keeps nothing */ }
}
