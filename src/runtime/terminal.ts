/** What a terminal obeys instead of showing it: ESC, BEL, C1, marks of direction, separators; line ends and tabs stay. */
const COMMANDS = /(?![\t\n])[\p{Cc}\p{Cf}\u2028\u2029]/gu

/** Drops from a text for a terminal what would steer it: words of carriers, names of files and the like stand in it. */
export function forTerminal(text: string): string {
  return text.replace(COMMANDS, '')
}

/** Puts the moments of a text into this process's zone (TZ): `2026-11-21 10:04:01 +08:00`. */
export function showLocalTimes(text: string): string {
  return text.replace(/(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC/g, (utc, day: string, time: string) => {
    const at = new Date(`${day}T${time}Z`)
    const east = -at.getTimezoneOffset()
    if (Number.isNaN(east) || east === 0) return utc
    const there = new Date(at.getTime() + east * 60_000).toISOString().slice(0, 19).replace('T', ' ')
    const offset = new Date(Math.abs(east) * 60_000).toISOString().slice(11, 16)
    return `${there} ${east < 0 ? '-' : '+'}${offset}`
  })
}

/** A Chinese character, which a terminal gives two places. */
const WIDE = /[\p{Script=Han}，。：；、（）？！“”]/gu

export function columnsOf(text: string): number {
  return text.length + (text.match(WIDE) ?? []).length
}

/** Fills a column. */
export function padColumn(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - columnsOf(text)))
}

/** Breaks a text into lines of so many columns: at its own line ends, at spaces, and between Chinese characters, whose marks stay with the one before. */
export function fillLines(text: string, width: number): readonly string[] {
  return text.split('\n').flatMap(whole => {
    const [, margin = '', rest = ''] = /^( *)(.*)$/.exec(whole) ?? []
    const pieces = rest.match(
      /[“（]*(?:\p{Script=Han}|[^\s\p{Script=Han}“（]+)[，。：；、）？！”]*\s*|[“（]+\s*/gu,
    )
    const lines = [margin]
    for (const piece of pieces ?? []) {
      const line = lines.at(-1) ?? ''
      if (line.trim() !== '' && columnsOf(line + piece.trimEnd()) > width) lines.push(margin + piece)
      else lines[lines.length - 1] = line + piece
    }
    return lines.map(line => line.trimEnd())
  })
}
