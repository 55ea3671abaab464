import { writeFileSync } from 'node:fs'
import { availableParallelism, cpus, totalmem } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type Figure, formatFigures } from './figures.ts'
import { measureBacklog } from './measures/backlog.ts'
import { measureBeside } from './measures/beside.ts'
import { measureCarriers } from './measures/carriers.ts'
import { measureDestinations } from './measures/destinations.ts'
import { measureFaults } from './measures/faults.ts'
import { measureLimit } from './measures/limit.ts'
import { measureMemory } from './measures/memory.ts'
import { measureOverload } from './measures/overload.ts'
import { measurePostgres } from './measures/postgres.ts'
import { measureEmail, measureSms } from './measures/rates.ts'
import { measureReplicas } from './measures/replicas.ts'
import { measureScaling } from './measures/scaling.ts'
import { measureStart } from './measures/start.ts'
import { measureValidation } from './measures/validation.ts'
import { openSession, type Session } from './session.ts'

const USAGE = `npm run bench -- [email limit sms carriers get start memory backlog replicas scaling overload postgres destinations faults beside] [--rounds 5] [--seconds 5] [--backlogs 10000,1000000] [--rows 0,1000000,10000000] [--json FILE] [--beside FOLDER]

Measures the real service on this machine, each figure beside its baseline in the same run, interleaved, as the median
of the rounds; \`--only email,sms\` is the same as the names alone. Ends with 1 when a message was lost, doubled or wrongly answered.
faults takes 12 minutes. beside is measured when it is named, with another checkout and turns of a second each: \`beside --rounds 9 --beside ../before\`.
postgres alone takes 20 minutes and 25 GB; with \`--rows 0,1000000 --rounds 1 --seconds 3\` three minutes.`

const MEASURES: Readonly<
  Record<
    string,
    (
      session: Session,
      sizes: { readonly backlogs: readonly number[]; readonly rows: readonly number[] },
    ) => Promise<Figure[]>
  >
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
  scaling: measureScaling,
  overload: measureOverload,
  postgres: measurePostgres,
  destinations: measureDestinations,
  faults: measureFaults,
  beside: measureBeside,
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '5' },
    backlogs: { type: 'string', default: '10000,1000000' },
    rows: { type: 'string', default: '0,1000000,10000000' },
    json: { type: 'string' },
    beside: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

const print = (line: string): void => void process.stdout.write(`${line}\n`)

async function main(): Promise<number> {
  const named = [...positionals, ...(values.only?.split(',') ?? [])]
  const only = named.length > 0 ? named : Object.keys(MEASURES).filter(name => name !== 'beside')
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
    beside: values.beside && resolve(values.beside),
    print,
  })
  const figures: Figure[] = []
  const numbers = (listed: string): number[] => listed.split(',').map(Number)
  const sizes = { backlogs: numbers(values.backlogs), rows: numbers(values.rows) }
  try {
    for (const name of only) figures.push(...((await MEASURES[name]?.(session, sizes)) ?? []))
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
