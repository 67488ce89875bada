// The gallery: one button per sample photo.

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".photos")
  if (root.childElementCount !== data.rows.length) {
    root.replaceChildren(...data.rows.map(row => {
      const button = document.createElement("button")
      const image = document.createElement("img")
      button.type = "button"
      button.title = row.title
      image.src = row.image
      image.alt = row.alt
      button.append(image)
      return button
    }))
  }
  data.rows.forEach((row, i) => {
    const button = root.children[i]
    button.setAttribute("aria-pressed", String(row.id === data.chosen))
    button.onclick = () => setTriggerValue("picked", row.id)
  })
}
