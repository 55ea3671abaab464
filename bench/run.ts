import { writeFileSync } from 'node:fs'
import { availableParallelism, cpus, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { type Figure, formatFigures } from './figures.ts'
import { measureBacklog } from './measures/backlog.ts'
import { measureCarriers } from './measures/carriers.ts'
import { measureLimit } from './measures/limit.ts'
import { measureMemory } from './measures/memory.ts'
import { measureEmail, measureSms } from './measures/rates.ts'
import { measureReplicas } from './measures/replicas.ts'
import { measureStart } from './measures/start.ts'
import { measureValidation } from './measures/validation.ts'
import { openSession, type Session } from './session.ts'

const USAGE = `npm run bench -- [email limit sms carriers get start memory backlog replicas] [--rounds 5] [--seconds 5] [--backlogs 10000,1000000] [--json FILE]

Measures the real service on this machine, each figure beside its baseline in the same run, interleaved, as the median
of the rounds; \`--only email,sms\` is the same as the names alone. Ends with 1 when a message was lost, doubled or wrongly answered.`

const MEASURES: Readonly<
  Record<string, (session: Session, backlogs: readonly number[]) => Promise<Figure[]>>
> = {
  email: measureEmail,
  limit: measureLimit,
  sms: measureSms,
  carriers: measureCarriers,
  get: measureValidation,
  start: measureStart,
  memory: measureMemory,
  backlog: measureBacklog,
  replicas: measureReplicas,
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '5' },
    backlogs: { type: 'string', default: '10000,1000000' },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

const print = (line: string): void => void process.stdout.write(`${line}\n`)

async function main(): Promise<number> {
  const named = [...positionals, ...(values.only?.split(',') ?? [])]
  const only = named.length > 0 ? named : Object.keys(MEASURES)
  const unknown = only.filter(name => !(name in MEASURES))
  if (values.help || unknown.length) {
    print(USAGE)
    return values.help ? 0 : 2
  }
  const machine = `${availableParallelism()} cores (${cpus()[0]?.model.trim()}), ${Math.round(totalmem() / 1e9)} GB, Node ${process.version}`
  print(machine)
  const { session, close } = await openSession({
    rounds: Number(values.rounds),
    seconds: Number(values.seconds),
    print,
  })
  const figures: Figure[] = []
  try {
    for (const name of only)
      figures.push(...((await MEASURES[name]?.(session, values.backlogs.split(',').map(Number))) ?? []))
    print(`\n${formatFigures(figures)}\n\nEvery message arrived once, with its own code.`)
    return 0
  } catch (error) {
    if (figures.length) print(`\n${formatFigures(figures)}`)
    print(`\nFAILED: ${error instanceof Error ? error.message : String(error)}`)
    return 1
  } finally {
    if (values.json !== undefined)
      writeFileSync(values.json, `${JSON.stringify({ machine, figures }, null, 2)}\n`)
    await close()
  }
}

process.exit(await main())
