import type { Setting } from '../settings/setting.ts'
import { groups } from './settings.ts'

const WIDTH = 100

const HEAD = `Settings of callback-courier. Copy this file to .env and fill in what stands open; what is commented out has a default or is not needed by most. The environment wins over this file. An empty value means "not set". Every secret may be given as a file instead: NAME_FILE=/run/secrets/name. Write values without quotes: container engines take those for a part of the value. Then: callback-courier check`

/** The text of .env.example: every setting with its meaning, in groups. Made by `npm run env:example`. */
export function envExample(): string {
  const parts = groups.map(({ title, about, settings }) => {
    const entries = Object.entries(settings).map(([name, setting]) => entryOf(name, setting))
    return [`# ---- ${title} ----\n${comment(about)}`, ...entries].join('\n\n')
  })
  return `${[comment(HEAD), ...parts].join('\n\n')}\n`
}

function entryOf(name: string, setting: Setting<unknown>): string {
  const value = setting.fill === true ? '' : (setting.default ?? '')
  const shown = value === '' || value === '{}' ? `\n# Example: ${setting.example}` : ''
  const { meaning, secret, schema } = setting
  const among = schema.enum === undefined ? '' : ` One of: ${schema.enum.join(', ')}.`
  const range = schema.minimum === undefined ? '' : ` From ${schema.minimum} to ${schema.maximum}.`
  const about = comment(`${meaning}${among}${range}${secret === true ? ' Secret.' : ''}`)
  return `${about}${shown}\n${setting.fill === true ? '' : '#'}${name}=${value}`
}

/** Words in lines of at most WIDTH characters, each behind `# `. */
function comment(words: string): string {
  const lines: string[] = []
  let line = '#'
  for (const word of words.split(' ')) {
    if (line.length + 1 + word.length > WIDTH) {
      lines.push(line)
      line = '#'
    }
    line += ` ${word}`
  }
  return [...lines, line].join('\n')
}
