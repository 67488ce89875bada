// The switches' parts that need no browser: what is off as text, where arrow keys lead, colours and numbers of drops.

import assert from "node:assert/strict"
import { test } from "node:test"

import { encodeOff, ledTo, namesOff, needsBlack, placeOfDrop, shortNumber } from "../../app/components/switches/switches_state.js"

const all = [0, 1].flatMap(layer => [
  ...[0, 1].map(head => ({ name: `L${layer}H${head}`, kind: "head", layer, head })),
  { name: `L${layer}.attn`, kind: "attn", layer, head: 0 }, { name: `L${layer}.mlp`, kind: "mlp", layer, head: 0 },
])

test("what is off is text, in the model's order", () => {
  assert.equal(encodeOff(new Set(["L1.mlp", "L0H1", "nonsense"]), all), "L0H1-L1.mlp")
  assert.deepEqual([...namesOff("L0H1-L1.mlp")], ["L0H1", "L1.mlp"])
  assert.equal(namesOff("").size, 0)
})

test("arrow keys lead to neighbours and stop at the rim", () => {
  const led = (name, key) => ledTo(all.find(one => one.name === name), key, all, 2).name
  assert.deepEqual(["ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "x"].map(key => led("L0H1", key)), ["L0.attn", "L1H1", "L0H0", "L0H1", "L0H1"])
  assert.equal(led("L1.mlp", "ArrowRight"), "L1.mlp")
})

test("drops have a colour whose middle is 0, ink that is read on it, and few letters", () => {
  assert.deepEqual([-4, 0, 4, 9].map(drop => placeOfDrop(drop, 4)), [0, 128, 255, 255])
  assert.deepEqual([[255, 255, 255], [103, 0, 31], [0, 0, 0]].map(needsBlack), [true, false, false])
  assert.deepEqual([-0.51, 4.02, 0.01, -0.01].map(shortNumber), ["−0.5", "4.0", "0", "0"])
})
