import { parseEnv } from 'node:util'
import type { ConfigError } from '../config/config.ts'
import { languageOfTerminal } from '../language/choose.ts'
import { type ReaderLanguage, say, wordsOf } from '../language/sentence.ts'
import { build, formatBuild } from '../runtime/build.ts'
import { fillLines, forTerminal, showLocalTimes } from '../runtime/terminal.ts'
import { type Command, failWith, type Io, UsageError, writeLine } from './command.ts'
import { formatHelp, formatSynopsis, helpOf, helpText } from './help.ts'

type CommandName = keyof typeof helpOf
export const commandNames = Object.keys(helpOf) as readonly CommandName[]

const width = Math.max(...commandNames.map(name => name.length))

/** The text that `callback-courier --help` prints. */
export function formatUsage(language: ReaderLanguage): string {
  const what = say(
    'Delivers an IoT platform’s e-mail and SMS callbacks through your own SMTP server and SMS carriers.',
  )
  const more = say(
    '“callback-courier COMMAND --help” says more about each; “callback-courier --version” says what this is. All answer in the language of the terminal (LC_ALL, LC_MESSAGES, LANG): English or Chinese.',
  )
  return `callback-courier COMMAND [OPTIONS]

  ${what.in(language)}

${commandNames.map(name => `  ${name.padEnd(width)}  ${helpText(helpOf[name].summary).in(language)}`).join('\n')}

${fillLines(more.in(language), 116)
  .map(line => `  ${line}\n`)
  .join('')}`
}

/** Language and time zone that the dotenv file asks for: a container and a unit of systemd have none of their own. */
function readLocale({ readFile, dotenvPath }: Io): Io['env'] {
  try {
    const { LC_ALL, LC_MESSAGES, LANG, TZ } = parseEnv(readFile(dotenvPath))
    return { LC_ALL, LC_MESSAGES, LANG, TZ }
  } catch {
    return {}
  }
}

/** Has everything that a command prints pass through here: moments are those of TZ, but for programs. */
function printing(to: Io['stdout'], isForPrograms: boolean): Io['stdout'] {
  return { write: text => to.write(forTerminal(isForPrograms ? text : showLocalTimes(text))) }
}

/**
 * Runs a command line.
 * @param argv without node and script.
 * @returns the exit code: 0 for success, 1 for failure, 2 for a wrong command line.
 */
export async function runCommand(argv: readonly string[], given: Io): Promise<number> {
  const io = {
    ...given,
    env: { ...readLocale(given), ...given.env },
    stdout: printing(given.stdout, argv.includes('--json')),
    stderr: printing(given.stderr, false),
  }
  if (io.env['TZ']) io.setZone?.(io.env['TZ'])
  const language = languageOfTerminal(io.env)
  const [name, ...rest] = argv
  if (name === '--version') {
    io.stdout.write(`callback-courier ${formatBuild(build)}\n`)
    return 0
  }
  if (name === undefined || !Object.hasOwn(helpOf, name)) {
    const asked = name === '--help' || name === '-h' || name === 'help'
    if (!asked && name !== undefined) {
      writeLine(io, 'stderr', say('There is no command “{name}”.', { name }))
      io.stderr.write('\n')
    }
    io[asked ? 'stdout' : 'stderr'].write(formatUsage(language))
    return asked ? 0 : 2
  }
  const { [name]: command } = (await import(`./${name}.ts`)) as Readonly<Record<string, Command>>
  if (command === undefined) return 2
  if (rest.includes('--help') || rest.includes('-h')) {
    io.stdout.write(formatHelp(name as CommandName, language))
    return 0
  }
  try {
    return await command(rest, io)
  } catch (error) {
    if (error instanceof UsageError) {
      const said = `callback-courier ${name}: ${error.sentence.in(language)}`
      io.stderr.write(`${said}\n\n  ${formatSynopsis(name as CommandName)}\n\n`)
      writeLine(io, 'stderr', say('“callback-courier {name} --help” says more.', { name }))
      return 2
    }
    if (!(error instanceof Error)) throw error
    // A file that an option names, and that cannot be read or written, is no bug of ours.
    const isOfFile = 'syscall' in error && 'path' in error
    if (error.name === 'StoreUnusable' || isOfFile) return failWith(io, wordsOf(error))
    if (error.name !== 'ConfigError') throw error
    io.stderr.write(`${(error as ConfigError).in(language)}\n`)
    return 1
  }
}
