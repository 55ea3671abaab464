import { stripTypeScriptTypes } from 'node:module'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { seededRandom } from '../delivery/simulation.ts'
import { readSources } from './place.ts'

const USAGE = `node test/mutants/draw.ts --seed N [--count N] [--room NAME] [--except NAME,NAME]

Draws lines of code of src, and prints them. Whoever plants a mistake in each, without a look at the tests, and has
run.ts --sample try them, learns which share of mistakes the tests catch.

  --count N     so many lines; 100 unless told otherwise
  --room NAME   of this folder of src only
  --except ...  of none of these folders
`

interface Drawn {
  /** File and line. */
  readonly at: string
  readonly text: string
}

/** Lines without a letter or digit have nothing to be mistaken about. */
function codeLines(source: string): readonly number[] {
  const blank = (text: string) => text.replace(/[^\n]/g, ' ')
  // Types become spaces.
  const code = stripTypeScriptTypes(source)
    .replace(/^ *(?:\/\*[^]*?\*\/|\/\/.*$)/gm, blank)
    .replace(/^(?:import|export) (?:[^;()=]*? from )?'[^']*'$/gm, blank)
  return code.split('\n').flatMap((line, at) => (/\w/.test(line) ? [at + 1] : []))
}

function draw(
  sources: ReadonlyMap<string, string>,
  { seed, count, room = '*', except = [] }: DrawOptions,
): readonly Drawn[] {
  const all = [...sources]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([file, source]) => {
      const folder = file.split('/')[1] ?? ''
      if ((room !== '*' && folder !== room) || except.includes(folder)) return []
      const lines = source.split('\n')
      return codeLines(source).map(line => ({ at: `${file}:${line}`, text: (lines[line - 1] ?? '').trim() }))
    })
  const random = seededRandom(seed)
  return all
    .map(each => ({ each, place: random() }))
    .sort((a, b) => a.place - b.place)
    .slice(0, count)
    .map(({ each }) => each)
}

interface DrawOptions {
  readonly seed: number
  readonly count: number
  readonly room?: string
  readonly except?: readonly string[]
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      count: { type: 'string', default: '100' },
      room: { type: 'string', default: '*' },
      except: { type: 'string', default: '' },
      help: { type: 'boolean', default: false },
    },
  })
  const { seed, count, room, except } = values
  if (values.help || seed === undefined) process.stdout.write(USAGE)
  else {
    const sources = readSources(resolve(import.meta.dirname, '..', '..'))
    const options = { seed: Number(seed), count: Number(count), room, except: except.split(',') }
    for (const { at, text } of draw(sources, options)) process.stdout.write(`${at}  ${text}\n`)
  }
}
