import { median } from './loop.ts'

/** A measured figure, which is a line of the result. */
export interface Figure {
  readonly what: string
  readonly value: number
  readonly unit: string
  /** The limit that the figure should keep, and whether it does. */
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

/** Divides round by round, because what slows the machine down for a while slows down both of a round. */
export function ratio(what: string, ours: readonly number[], theirs: readonly number[]): Figure {
  return figure(
    what,
    'ratio',
    ours.map((value, i) => value / (theirs[i] ?? Number.NaN)),
  )
}

export function formatFigures(figures: readonly Figure[]): string {
  const rows = figures.map(({ what, value, unit, reach, rounds = [] }) => [
    what,
    `${formatNumber(value)} ${unit}`,
    reach ? `${reach.atLeast ? 'at least' : 'at most'} ${formatNumber(reach.limit)}` : '',
    reach ? (reach.met ? 'reached' : 'NOT REACHED') : '',
    rounds.length > 1 ? `${formatNumber(Math.min(...rounds))} to ${formatNumber(Math.max(...rounds))}` : '',
  ])
  return formatTable([['what', 'median', 'reach', '', 'rounds'], ...rows])
}

/** @param rows the first one says what stands in the columns. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0))) ?? []
  return rows
    .map(row =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function formatNumber(value: number): string {
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2)
}
