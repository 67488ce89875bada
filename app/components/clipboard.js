// Whether the text is in the clipboard now.
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text) // there is no clipboard on pages that came by plain http from another machine
    return true
  } catch {
    return false
  }
}
