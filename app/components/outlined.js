/** A thin frame around each of these patches of a map, within it: seen on every heat, beside the frame of a patch that was asked.
 * @param {CanvasRenderingContext2D} ctx @param {number[]} patches @param {number} rows @param {number} cols @param {number} wide @param {number} high */
export function framed(ctx, patches, rows, cols, wide, high) {
  const [w, h] = [wide / cols, high / rows]
  const inset = Math.max(1.5, 0.08 * Math.min(w, h))
  for (const { colour, line } of [{ colour: "rgba(0,0,0,.85)", line: 3.5 }, { colour: "#4FC3D9", line: 1.5 }]) {
    ctx.strokeStyle = colour
    ctx.lineWidth = Math.min(line, 0.4 * w)
    for (const patch of patches || []) {
      ctx.strokeRect((patch % cols) * w + inset, Math.floor(patch / cols) * h + inset, w - 2 * inset, h - 2 * inset)
    }
  }
}
