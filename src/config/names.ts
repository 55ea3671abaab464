/**
 * The known name that was probably meant by an unknown one, or null: at most one slip (a letter too many, too few,
 * wrong, or two swapped) in a short name, two in a longer one; words of a known name with some left out count too.
 */
export function nearestName(name: string, known: Iterable<string>): string | null {
  if (name.length < 5 || name !== name.toUpperCase()) return null
  let best: { name: string; slips: number } | null = null
  for (const candidate of known) {
    const most = Math.min(name.length, candidate.length) < 8 ? 1 : 2
    const slips = leavesWordsOut(name, candidate) ? most : distance(name, candidate)
    if (slips <= most && (best === null || slips < best.slips)) best = { name: candidate, slips }
  }
  return best?.name ?? null
}

/** `TWILIO_SID` leaves a word of `TWILIO_ACCOUNT_SID` out. */
function leavesWordsOut(name: string, candidate: string): boolean {
  const words = name.split('_')
  const whole = candidate.split('_')
  if (words.length < 2 || words.length !== whole.length - 1 || words[0] !== whole[0]) return false
  let at = 0
  for (const word of whole) if (word === words[at]) at += 1
  return at === words.length
}

/** Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours. */
function distance(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      let least = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + cost)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (before[j - 2] ?? 0) + 1)
      row.push(least)
    }
    before = last
    last = row
  }
  return last[b.length] ?? a.length
}
