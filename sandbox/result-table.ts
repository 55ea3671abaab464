import type { KindResult } from './once.ts'

/** Formats results as a table. @param paths for each result the file to look at. */
export function formatResults(results: readonly KindResult[], paths: readonly string[]): string {
  const head = ['channel', 'kind', 'by', 'err_code', 'ms', 'arrived', 'where to look']
  const cells = results.map(({ channel, kind, carrier, callback: { answer }, arrived, faults }, at) => [
    channel,
    kind,
    carrier ?? '-',
    answer.is === 'answered' ? String(answer.errCode ?? '-') : '-',
    String(answer.ms),
    faults.length > 0 ? 'WRONG' : arrived === null ? '-' : 'once',
    paths[at] ?? '',
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

/** Lists what is wrong, a sentence each; empty when nothing is. @param expected how many results there should be. */
export function listFaults(results: readonly KindResult[], expected: number): readonly string[] {
  const faults = results.flatMap(({ channel, kind, carrier, faults }) =>
    faults.map(fault => `${channel} ${kind}${carrier === null ? '' : ` by ${carrier}`}: ${fault}`),
  )
  const missing = expected - results.length
  return missing > 0 ? [...faults, `${missing} of ${expected} were not sent in time`] : faults
}
