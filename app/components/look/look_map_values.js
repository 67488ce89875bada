// The Look page's reading part: which map lies on the photo, and its numbers out of the bytes that Python sent.

import { chosen, exactly, exactRow, fetched, read } from "../explorer/explorer_attention_bytes.js"

/** What lies on the photo: rollout through all layers or up to one, the attention of a layer, or the similarity of positions.
 * `hover`: the patch pointed at; `over`: a tile or a head pointed at; `step`: the layer up to which rollout plays.
 * @param {{ st: { patch: number | null, layer: number | null, head: number | null }, hover: number | null,
 *   over: { position?: number, layer?: number, head?: number } | null, step: number | null }} s */
export function painted({ st, hover, over, step }) {
  const patch = hover ?? st.patch
  if (over?.position !== undefined) return { kind: "position", patch: over.position }
  if (step !== null) return { kind: "step", layer: step }
  const { layer, head } = over ?? st
  return layer === null ? { kind: "rollout", patch } : { kind: "attention", layer, head, patch }
}

// Attention of every layer is fetched beforehand, one block of bytes after the other, while the browser has nothing else to do.
export function fetchWhileIdle(s) {
  const idle = window.requestIdleCallback ?? (task => setTimeout(task, 300))
  const maps = [...s.data.maps, ...(s.data.readouts || [])].filter(Boolean)
  const next = () => {
    const spec = maps.find(one => s.bytes.get(one.url) === undefined)
    if (spec) fetched(s, spec, () => idle(next))
  }
  idle(next)
}

// Whether the mean distance of the head that is shown is drawn around a patch.
export const ringed = (what, data) => what.kind === "attention" && what.head !== null && Boolean(data.distance)

// Its numbers, a token each, in `out`; false while they are on their way, or where this layer has not come from Python.
export function numbersOf(s, what, out) {
  const { data } = s, { prefix } = data.grid, bytes = spec => spec && fetched(s, spec, s.again)
  out.fill(0)
  if (what.kind === "position") {
    const rows = bytes(data.positions)
    if (rows) signedRow(rows, prefix + what.patch, prefix, out)
    return Boolean(rows)
  }
  if (what.kind === "step" || (what.kind === "rollout" && what.patch === null)) {
    if (data.values) return out.set(data.values, prefix), true
    const steps = bytes(data.steps), n = out.length - prefix, from = (what.layer ?? data.blocks - 1) * n
    if (steps) out.set(new Float32Array(steps.bytes.buffer).subarray(from, from + n), prefix)
    return Boolean(steps)
  }
  if (what.kind === "rollout") {
    const map = exactly(s, bytes(data.rollout), data.exact, null, s.again)
    if (map) read(map, 0, prefix + what.patch, false, s.table, out)
    return Boolean(map)
  }
  const ofAnswer = what.patch === null && data.readouts
  const map = exactly(s, bytes(ofAnswer ? data.readouts[what.layer] : data.maps[what.layer]), data.exact, what.layer, s.again)
  if (!map) return false
  const token = what.patch === null ? 0 : prefix + what.patch
  const rows = Array.from({ length: data.heads }, (_, head) => head).filter(head => what.head === null || head === what.head)
    .map(head => (ofAnswer ? readoutRow(map, head, out.length, s.table) : read(map, head, token, false, s.table, new Float32Array(out.length))))
  chosen(rows, what.head === null ? null : 0, out)
  return true
}

const ANSWER = -1 // in place of a token: where the answer is read
const readoutRow = (map, head, tokens, table) => exactRow(map, head, ANSWER, false) ?? codedRow(map, head, tokens, table)
const codedRow = ({ bytes }, head, tokens, table) => Float32Array.from(bytes.subarray(head * tokens, (head + 1) * tokens), code => table[code])

/** One row of signed bytes, −127…127 for −1…1, into `out` from `prefix` on.
 * @param {any} map @param {number} token @param {number} prefix @param {Float32Array} out */
export function signedRow(map, token, prefix, out) {
  const signed = new Int8Array(map.bytes.buffer), n = out.length - prefix
  const row = map.all ? token - prefix : map.nearest[token]
  for (let i = 0; i < n; i++) out[prefix + i] = signed[row * n + i] / 127
}

/** The places of the largest of a row of signed bytes, by size, the largest first.
 * @param {Int8Array} bytes @param {number} row @param {number} count @param {number} most */
export function strongest(bytes, row, count, most) {
  const size = i => Math.abs(bytes[row * count + i])
  return [...Array(count).keys()].sort((a, b) => size(b) - size(a)).slice(0, most)
}

/** The place of the dot nearest to a point, no further than `within`; null where there is none.
 * @param {[number, number][]} dots @param {number} x @param {number} y @param {number} within */
export function nearestDot(dots, x, y, within) {
  let best = null, least = within ** 2
  dots.forEach(([dx, dy], i) => {
    const far = (dx - x) ** 2 + (dy - y) ** 2
    if (far <= least) [best, least] = [i, far]
  })
  return best
}

/** How many lines a sequence takes at this width, so that its patches are together about `high` px high; and a patch's side, `most` px at most.
 * @param {number} count @param {number} wide @param {number} high @param {number} most */
export function lines(count, wide, high, most = 40) {
  for (let rows = 1; ; rows++) {
    const per = Math.ceil(count / rows), side = Math.min(wide / per, high / rows, most)
    if (rows * (wide / per) >= high || per === 1) return { rows, per, side }
  }
}

