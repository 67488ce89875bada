// A photo dropped anywhere on a page goes to the uploader of its photo picker; a page without one, or a file of another kind, does nothing.

const UPLOADER = ".st-key-file input[type=file]"
const LEFT_MS = 400 // a browser says at least every 350 ms that something is dragged over it

/** @param {DataTransfer | null} transfer what is dragged: whether it may be a photo; which file it is, is told when it is dropped */
export const mayBePhoto = transfer => Boolean(transfer?.types.includes("Files"))

/** @param {Iterable<File>} files @returns {File | undefined} the first photo of them; browsers know no type of HEIC */
export const photoAmong = files => [...files].find(({ type, name }) => type.startsWith("image/") || /\.hei[cf]$/i.test(name))

/** While a file is over the window, `data-dropping` of the document says what to do (`word`). Uploaders of a page keep what is dropped on them. */
export function takeDrops(word, signal) {
  const root = document.documentElement
  let left
  const away = () => root.removeAttribute("data-dropping")
  const uploader = () => /** @type {HTMLInputElement} */ (document.querySelector(UPLOADER))
  const listen = (kind, act) => document.addEventListener(kind, event => mayBePhoto(event.dataTransfer) && act(event), { signal, capture: true })
  listen("dragover", event => {
    event.preventDefault() // else the browser would leave the page for the file
    clearTimeout(left)
    left = setTimeout(away, LEFT_MS)
    if (uploader()) root.dataset.dropping = word()
  })
  listen("drop", event => {
    away()
    if (event.target.closest?.(":st(file-dropzone)")) return
    event.preventDefault()
    const photo = photoAmong(event.dataTransfer.files), to = uploader()
    if (!photo || !to) return
    const handed = new DataTransfer()
    handed.items.add(photo)
    to.files = handed.files
    to.dispatchEvent(new Event("change", { bubbles: true }))
  })
}
