import { SAMPLE_KINDS } from '../src/platform/sample-callbacks.ts'
import type { Row } from './once.ts'

/** The rows as people read them, and below them what is wrong with any. */
export function table(rows: readonly Row[], looks: readonly string[]): string {
  const head = ['channel', 'kind', 'err_code', 'ms', 'arrived', 'where to look']
  const cells = rows.map(({ channel, kind, played: { answer }, arrived, faults }, at) => [
    channel,
    kind,
    answer.is === 'answered' ? String(answer.errCode ?? '-') : '-',
    String(answer.ms),
    faults.length > 0 ? 'WRONG' : arrived === null ? '-' : 'once',
    looks[at] ?? '',
  ])
  const widths = head.map((title, column) =>
    Math.max(title.length, ...cells.map(row => (row[column] ?? '').length)),
  )
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) =>
        head[column] === 'ms' ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd()
  return [line(head), line(widths.map(width => '-'.repeat(width))), ...cells.map(line), ''].join('\n')
}

/** One sentence a fault; empty when all is well. */
export function complaints(rows: readonly Row[]): readonly string[] {
  const wrong = rows.flatMap(({ channel, kind, faults }) =>
    faults.map(fault => `${channel} ${kind}: ${fault}`),
  )
  const expected = 2 + SAMPLE_KINDS.length
  const missing = expected - rows.length
  return missing > 0 ? [...wrong, `${missing} of ${expected} were not played in time`] : wrong
}
