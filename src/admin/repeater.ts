/** How often a condition that every request could report is said, ms. */
const REPEAT_MS = 60_000
/** Conditions that are told apart. There are a few dozen; codes that servers make up must not make it more. */
const MOST = 500

/** Says a thing at once, then at most once a minute, with how many times it happened since. */
export type Repeater = (what: string, say: (times: number) => void) => void

/** @param now ms; only differences count. */
export function createRepeater(now: () => number): Repeater {
  const said = new Map<string, { at: number; times: number }>()
  return (what, say) => {
    const last = said.get(what)
    if (last === undefined) {
      if (said.size >= MOST) said.clear()
      said.set(what, { at: now(), times: 0 })
      say(1)
      return
    }
    last.times += 1
    if (now() - last.at < REPEAT_MS) return
    say(last.times)
    said.set(what, { at: now(), times: 0 })
  }
}
