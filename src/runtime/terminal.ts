/** What a terminal obeys instead of showing it: ESC, BEL, C1, marks of direction, separators; line ends and tabs stay. */
const COMMANDS = /(?![\t\n])[\p{Cc}\p{Cf}\u2028\u2029]/gu

/** Drops from a text for a terminal what would steer it: words of carriers, names of files and the like stand in it. */
export function forTerminal(text: string): string {
  return text.replace(COMMANDS, '')
}
