// Copies the address of the page as it is now; where the browser does not let us, shows it to be copied by hand.

const timers = new WeakMap()

export default function ({ data, parentElement }) {
  const button = parentElement.querySelector("button")
  const output = parentElement.querySelector("output")
  const field = parentElement.querySelector("input")
  const of = `${data.place} ${data.note}`
  if (output.dataset.of !== of) { // another page, photo or model: what was said is old news
    output.textContent = ""
    field.hidden = true
    output.dataset.of = of
  }
  button.onclick = async () => {
    const address = plain(new URL(window.location.href), data.ids)
    const done = await copied(address)
    field.value = address
    field.hidden = done
    if (!done) { field.focus(); field.select() }
    output.toggleAttribute("data-brief", done && !data.note)
    output.textContent = [done ? data.copied : data.failed, data.note].filter(Boolean).join(" ")
    clearTimeout(timers.get(output))
    if (done && !data.note) timers.set(output, setTimeout(() => { output.textContent = "" }, 5000))
  }
  return () => clearTimeout(timers.get(output))
}

// The same link in every language: a photo by its id.
function plain(url, ids) {
  for (const key of ["photo", "scene"]) {
    const id = ids[url.searchParams.get(key)]
    if (id) url.searchParams.set(key, id)
  }
  return url.href
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text) // there is no clipboard on pages that came by plain http from another machine
    return true
  } catch {
    return false
  }
}
