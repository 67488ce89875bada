// Live's worker, begun while the page is on its way: it fetches the shipped model and makes it ready; the page takes it over.

{
  const FORGOTTEN_MS = 120000 // a page that never asks for it, as one that was left
  const { files, model } = /** @type {any} */ (document.currentScript).dataset
  const asked = new URLSearchParams(location.search).get("model")
  if (!asked || asked === model) {
    const named = JSON.parse(files), at = name => new URL(named[name], document.baseURI).href, page = /** @type {any} */ (globalThis)
    const worker = new Worker(at("worker"), { type: "module" })
    const early = { files, worker, heard: null, forget: setTimeout(() => end(), FORGOTTEN_MS) }
    const end = () => { worker.terminate(); delete page.insideVitLive }
    worker.onmessage = ({ data }) => { early.heard = data }
    worker.onerror = end
    worker.postMessage({ kind: "load", files: { library: at("library"), wasm: at("wasm"), graph: at("graph"), weights: at("weights"), named: named.named } })
    page.insideVitLive = early
  }
}
