import { median } from './loop.ts'

/** A line of the result. */
export interface Figure {
  readonly what: string
  readonly value: number
  readonly unit: string
  /** What is to be reached, and whether the figure does. */
  readonly reach?: { readonly limit: number; readonly atLeast: boolean; readonly met: boolean }
  /** One value for each round. */
  readonly rounds?: readonly number[]
}

export function figure(what: string, unit: string, rounds: readonly number[]): Figure {
  return { what, unit, value: median(rounds), rounds }
}

export function atLeast(limit: number, from: Figure): Figure {
  return { ...from, reach: { limit, atLeast: true, met: from.value >= limit } }
}

export function atMost(limit: number, from: Figure): Figure {
  return { ...from, reach: { limit, atLeast: false, met: from.value <= limit } }
}

/** Round by round, so that what slows the machine down for a while slows both down. */
export function ratio(what: string, ours: readonly number[], theirs: readonly number[]): Figure {
  return figure(
    what,
    'ratio',
    ours.map((value, i) => value / (theirs[i] ?? Number.NaN)),
  )
}

export function table(figures: readonly Figure[]): string {
  const rows = figures.map(({ what, value, unit, reach, rounds = [] }) => [
    what,
    `${short(value)} ${unit}`,
    reach ? `${reach.atLeast ? 'at least' : 'at most'} ${short(reach.limit)}` : '',
    reach ? (reach.met ? 'reached' : 'NOT REACHED') : '',
    rounds.length > 1 ? `${short(Math.min(...rounds))} to ${short(Math.max(...rounds))}` : '',
  ])
  const all = [['what', 'median', 'reach', '', 'rounds'], ...rows]
  const widths = all[0]?.map((_, column) => Math.max(...all.map(row => row[column]?.length ?? 0))) ?? []
  return all
    .map(row =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function short(value: number): string {
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2)
}
