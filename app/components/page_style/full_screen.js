// Full screen for any picture of our own: the key F while it is pointed at or has the focus; F or Escape leaves it.
// (Streamlit's images and charts have a button of their own.)

const WHOLE = "section, figure" // of a component: the smallest one that a person means
const STYLE = `:fullscreen {
  --beside-picture: 6.5rem; --beside-photo: 8.5rem; box-sizing: border-box; margin: 0; padding: 1rem; overflow: auto;
  background: var(--st-background-color); color: var(--st-text-color);
}
figure:fullscreen { display: grid; place-content: safe center; grid-template-columns: minmax(0, 1fr); justify-items: center; max-width: none !important; }
section:fullscreen .photo { margin-inline: auto; }
figure:fullscreen > .frame { width: min(100%, 100vh - var(--beside-picture)); }`
let under = [] // what the pointer is over, the innermost first

/** @param {EventTarget[]} path what an event went through @returns {any} the picture among it */
export const pictureAmong = path => path.find(node => node instanceof Element && node.matches(WHOLE) && node.getRootNode() instanceof ShadowRoot)

/** Whether this key was F, and a picture filled the screen for it, or does no longer.
 * @param {KeyboardEvent} event */
export function fullScreen(event) {
  if (event.key.toLowerCase() !== "f" || event.ctrlKey || event.metaKey || event.altKey) return false
  if (document.fullscreenElement) {
    document.exitFullscreen()
    return true
  }
  const picture = pictureAmong([...event.composedPath(), ...under])
  if (!picture?.requestFullscreen) return false
  dress(picture.getRootNode())
  picture.requestFullscreen().catch(() => {}) // a browser may not allow it
  return true
}

/** @param {AbortSignal} signal */
export function watchPointer(signal) {
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
