// What is chosen in a component: drawn at once, told to Python when it has come to rest, and kept until Python answers to it.

// Change what is chosen; `delay` in ms for keys that may be pressed again.
export function choose(s, what, delay = 0) {
  Object.assign(s.st, what)
  Object.assign(s.changed, what)
  commit(s, delay)
}

export function commit(s, delay = 0) {
  clearTimeout(s.timer)
  s.timer = setTimeout(() => {
    s.timer = null
    s.n += 1
    s.sent = performance.now()
    // only what was chosen here, for a control may have been touched meanwhile; and all that Python has not answered to
    // yet, for of two messages that arrive together it hears the later
    s.said.push([s.n, s.changed])
    s.changed = {}
    s.send({ n: s.n, ...Object.assign({}, ...s.said.map(([, what]) => what)) })
  }, delay)
}

// What Python says counts, unless it answers to less than what was chosen here meanwhile.
export function adoptChoices(s, data) {
  s.said = s.said.filter(([n]) => n > data.n)
  if (s.timer || (data.n < s.n && performance.now() - s.sent < 5000)) return
  s.st = { ...data.state }
  s.n = data.n
}

export const fresh = data => ({ bytes: new Map(), n: data.n, sent: -1e9, changed: {}, said: [], st: { ...data.state } })
