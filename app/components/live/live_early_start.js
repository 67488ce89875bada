// Live's worker, begun while the page is on its way: it fetches the shipped model, makes it ready and answers for the first photo of
// the gallery; the page takes it over.

{
  const FORGOTTEN_MS = 120000 // a page that never asks for it, as one that was left
  const { files, model, first } = /** @type {any} */ (document.currentScript).dataset
  const asked = new URLSearchParams(location.search), photo = first ? JSON.parse(first) : null
  const url = name => new URL(name, document.baseURI).href
  if (!asked.get("model") || asked.get("model") === model) {
    const named = JSON.parse(files), at = name => url(named[name]), page = /** @type {any} */ (globalThis)
    const worker = new Worker(at("worker"), { type: "module" })
    const early = { files, worker, heard: null, photo: /** @type {any} */ (null), forget: setTimeout(() => end(), FORGOTTEN_MS) }
    const end = () => { worker.terminate(); delete page.insideVitLive }
    worker.onmessage = ({ data }) => { if (data.kind !== "frame") early.heard = data }
    worker.onerror = end
    worker.postMessage({ kind: "load", files: { library: at("library"), wasm: at("wasm"), graph: at("graph"), weights: at("weights"), named: named.named } })
    page.insideVitLive = early
    if (photo && (!asked.get("photo") || asked.get("photo") === photo.name)) ask(early, photo)
  }

  /** The photo, fetched for the worker and the page, and the frame that comes of it: promises, for the page may be here before them. */
  function ask(early, { key, spec, pixels, sharp }) {
    const pictures = Promise.all([pixels, sharp].map(async name => {
      const answer = await fetch(url(name))
      return createImageBitmap(await answer.blob(), { colorSpaceConversion: "none", premultiplyAlpha: "none" })
    }))
    const answer = pictures.then(([bitmap, sharp]) => new Promise(done => {
      early.worker.addEventListener("message", function hear({ data }) {
        if (data.kind !== "frame" || data.id) return
        early.worker.removeEventListener("message", hear)
        done(data)
      })
      early.worker.postMessage({ kind: "frame", id: 0, covered: [], off: [], spec, bitmap, sharp })
    }))
    answer.catch(() => {}) // the page asks again
    early.photo = { key, pictures, answer }
  }
}
