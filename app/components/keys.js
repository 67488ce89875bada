// Which keys a page may take for its own; put before the scripts of components that listen for keys anywhere on the page.

const OPEN = "[data-testid=stPopoverBody], [role=dialog], [role=listbox], [role=menu]" // Escape closes these, not a lecture
const TEXT = "input:not([type=range], [type=checkbox], [type=radio], [role=combobox]), textarea, [contenteditable=true]"

// Somebody writes, something open wants the key, another has had it, or it is a shortcut of the browser's.
function taken(event) {
  if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return true
  return Boolean(event.composedPath()[0].matches?.(TEXT) || document.querySelector(OPEN))
}
