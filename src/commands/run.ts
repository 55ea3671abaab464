import { build, formatBuild } from '../runtime/build.ts'
import { forTerminal } from '../runtime/terminal.ts'
import { type Command, type Io, UsageError } from './command.ts'

/** The commands, each with what it does. Its file has its name, and is loaded only when it is asked for: `health` and `serve` start fast. */
const commands: Readonly<Record<string, string>> = {
  serve: 'serve the callbacks (settings from the environment and .env)',
  check: 'look at settings, mail server, SMS carriers, certificate, store and templates; say what to mend',
  urls: "print what to paste into the platform's console",
  token: 'make a good Token',
  send: 'play the platform: send an e-mail or SMS callback to a running service',
  find: 'say what became of the messages to a recipient, and why',
  preview: 'write every mail and SMS in every language into a folder, to look at',
  backup: 'copy the store of a running service into a file',
  health: 'ask a running service whether it is well',
  ddq: "print the messages of the platform's data subscription",
}

const width = Math.max(...Object.keys(commands).map(name => name.length))

/** The text that `callback-courier --help` prints. */
export const usage = `callback-courier COMMAND [options]

  Delivers an IoT platform's e-mail and SMS callbacks through your own SMTP server and SMS carriers.

${Object.entries(commands)
  .map(([name, summary]) => `  ${name.padEnd(width)}  ${summary}`)
  .join('\n')}

  callback-courier COMMAND --help says more about each; callback-courier --version says what this is.
`

/** Has everything that a command prints pass through one function. */
function printing(to: Io['stdout']): Io['stdout'] {
  return { write: text => to.write(forTerminal(text)) }
}

/**
 * Runs a command line.
 * @param argv without node and script.
 * @returns the exit code: 0 for success, 1 for failure, 2 for a wrong command line.
 */
export async function runCommand(argv: readonly string[], given: Io): Promise<number> {
  const io = { ...given, stdout: printing(given.stdout), stderr: printing(given.stderr) }
  const [name, ...rest] = argv
  if (name === '--version') {
    io.stdout.write(`callback-courier ${formatBuild(build)}\n`)
    return 0
  }
  if (name === undefined || !Object.hasOwn(commands, name)) {
    const asked = name === '--help' || name === '-h' || name === 'help'
    if (!asked && name !== undefined) io.stderr.write(`There is no command "${name}".\n\n`)
    io[asked ? 'stdout' : 'stderr'].write(usage)
    return asked ? 0 : 2
  }
  const { [name]: command } = (await import(`./${name}.ts`)) as Readonly<Record<string, Command>>
  if (command === undefined) return 2
  if (rest.includes('--help') || rest.includes('-h')) {
    io.stdout.write(command.usage)
    return 0
  }
  try {
    return await command.run(rest, io)
  } catch (error) {
    if (error instanceof UsageError) {
      io.stderr.write(`${command.usage}\ncallback-courier ${name}: ${error.message}\n`)
      return 2
    }
    if (!(error instanceof Error && error.name === 'ConfigError')) throw error
    io.stderr.write(`${error.message}\n`)
    return 1
  }
}
