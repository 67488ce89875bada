// The gallery: one button per sample photo.

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".photos")
  root.setAttribute("aria-label", data.label)
  if (root.childElementCount !== data.rows.length) {
    root.replaceChildren(...data.images.map(address => {
      const button = document.createElement("button")
      const image = document.createElement("img")
      button.type = "button"
      image.src = address
      button.append(image)
      return button
    }))
  }
  data.rows.forEach((row, i) => {
    const button = root.children[i]
    button.title = row.title
    button.firstChild.alt = row.alt
    button.setAttribute("aria-pressed", String(row.id === data.chosen))
    button.onclick = () => {
      setTriggerValue("photo", row.id)
      // in a popover it would cover what was chosen
      const escape = new KeyboardEvent("keydown", { key: "Escape", cancelable: true })
      if (parentElement.host?.closest(":st(popover-body)")) document.dispatchEvent(escape)
    }
  })
}
