// Arrays that Live's frames write over in turn: what each leaves behind, a browser's collector lets lie for seconds, in all a hundred MB.

const arrays = new Map()

/** The array of this name, which each frame writes over.
 * @template {Float32Array | Uint8ClampedArray} T @param {string} name @param {new (length: number) => T} kind @param {number} length @returns {T} */
export function reused(name, kind, length) {
  arrays.set(name, fitting(arrays.get(name), kind, length))
  return arrays.get(name)
}

/** A spare array where its length fits, else a new one.
 * @template {Float32Array | Uint8ClampedArray} T @param {T | undefined} spare @param {new (length: number) => T} kind @param {number} length @returns {T} */
export function fitting(spare, kind, length) {
  return spare?.length === length ? spare : new kind(length)
}
