import { fillIn } from "./text_formatting.js"

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

/** A line that is seen on every heat: dark and wider below, then in its colour. `dash` is of the coloured one.
 * @param {CanvasRenderingContext2D} ctx @param {string} colour @param {number} line @param {(ctx: CanvasRenderingContext2D) => void} stroke
 * @param {{ below?: number, ink?: string, dash?: number[] }} [how] */
export function strokeTwice(ctx, colour, line, stroke, { below = line + 2.5, ink = "rgba(0,0,0,.8)", dash = [] } = {}) {
  for (const [strokeStyle, lineWidth, dashes] of /** @type {[string, number, number[]][]} */ ([[ink, below, []], [colour, line, dash]])) {
    Object.assign(ctx, { strokeStyle, lineWidth })
    ctx.setLineDash(dashes)
    stroke(ctx)
  }
  ctx.setLineDash([])
}

/** Which outlier tokens hold much of a map, or that they are masked; empty where none does. `attended`: they are looked at.
 * @param {number[]} marks @param {{ rows: number, cols: number }} grid
 * @param {{ masked: string, called: Record<string, string[]>, attended: string, other: string }} outliers @param {boolean} attended */
export function outlierSentence(marks, grid, outliers, attended) {
  const rim = patch => [patch % grid.cols, Math.floor(patch / grid.cols)].map((at, i) => at === 0 || at === (i ? grid.rows : grid.cols) - 1)
  const all = test => marks.every(patch => test(rim(patch)))
  const where = all(([x, y]) => x && y) ? "corner" : all(([x, y]) => x || y) ? "edge" : ""
  const who = marks.length ? outliers.called[where][marks.length - 1] : ""
  return outliers.masked || (who && fillIn(attended ? outliers.attended : outliers.other, { who }))
}
