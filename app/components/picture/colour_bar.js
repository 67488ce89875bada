// A colour bar under a picture: colours, the numbers at its ends, a unit.

export default function ({ data, parentElement }) {
  const [low, high] = parentElement.querySelectorAll("span")
  low.textContent = data.low
  high.textContent = data.high
  parentElement.querySelector("b").textContent = data.unit
  parentElement.querySelector(".bar").style.background = `linear-gradient(90deg, ${data.colours.join(",")})`
}
