// Pictures of every depth, side by side, each with what is said of it.

export default function ({ data, parentElement }) {
  const list = parentElement.querySelector("ol")
  list.setAttribute("aria-label", data.label)
  list.replaceChildren(...data.tiles.map(tile => {
    const [item, image, name, words] = ["li", "img", "b", "span"].map(tag => document.createElement(tag))
    Object.assign(image, { src: tile.image, alt: tile.alt })
    name.textContent = tile.name
    words.textContent = tile.words
    item.append(image, name, words)
    return item
  }))
}
