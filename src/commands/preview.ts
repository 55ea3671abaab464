import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { openRenderer } from '../assembly.ts'
import { asText } from './check/finding.ts'
import { lookAtWords } from './check/words.ts'
import { type Command, type Io, readArguments, UsageError } from './command.ts'
import { galleryFiles, pictures } from './gallery.ts'
import { settingsFor } from './settings-for.ts'

export const preview: Command = {
  usage: `callback-courier preview --out DIR | --lint

  Says every kind of message in every language with the brand, words and templates of the settings.

  --out DIR     write each as HTML and text, and an index.html to look through, into a folder
  --locale TAG  only this language; may be repeated
  --lint        only try every template, and say what is wrong; exit code 1 when one is refused
`,
  async run(argv, io) {
    const { values } = readArguments(argv, {
      out: { type: 'string' },
      locale: { type: 'string', multiple: true },
      lint: { type: 'boolean', default: false },
    })
    const { out, locale, lint } = values
    if (out === undefined && !lint) throw new UsageError('say --out DIR or --lint')
    const config = settingsFor(io)
    if (config === null) return 1
    const renderer = openRenderer(config, pino({ level: 'silent' }))
    try {
      const strangers = (locale ?? []).filter(tag => !renderer.locales.includes(tag))
      if (strangers.length > 0)
        throw new UsageError(`there is no ${strangers.join(', ')}: there are ${renderer.locales.join(', ')}`)
      if (out !== undefined) write(out, galleryFiles(pictures(renderer, locale)), io)
      const findings = lookAtWords(config, renderer)
      if (lint || findings.some(({ is }) => is !== 'ok')) io.stdout.write(asText(findings))
      return findings.some(({ is }) => is === 'fail') ? 1 : 0
    } finally {
      renderer.close()
    }
  },
}

function write(folder: string, files: ReadonlyMap<string, string>, io: Io): void {
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of files) writeFileSync(join(folder, name), text)
  io.stdout.write(`${files.size} files; look at ${join(folder, 'index.html')}\n`)
}
