import { say } from '../language/sentence.ts'
import { type Command, readArguments, UsageError } from './command.ts'
import { commandNames, loadCommand } from './run.ts'

const SHELLS = ['bash', 'zsh'] as const

export const completion: Command = {
  takes: SHELLS.join('|'),
  words: SHELLS,
  about: [
    say(
      'Prints a script that completes commands and options of “callback-courier”, and of an alias “courier”. For this shell: eval "$(courier completion bash)"; for each new one, write that line into ~/.bashrc or ~/.zshrc.',
    ),
  ],
  async run(argv, io) {
    const { positionals } = readArguments(argv, {}, { least: 1, most: 1 })
    const [shell = ''] = positionals
    if (!SHELLS.some(each => each === shell)) throw new UsageError(say('what is “{word}”?', { word: shell }))
    const cases = await Promise.all(
      commandNames.map(async name => {
        const { words = [], options = {} } = await loadCommand(name)
        const offered = [...words, ...Object.keys(options).map(each => `--${each}`), '--help']
        return `    ${name}) offered='${offered.join(' ')}' ;;\n`
      }),
    )
    io.stdout.write(formatScript(cases.join(''), shell === 'zsh'))
    return 0
  },
}

/** Files are completed where nothing of ours fits. zsh has bash's way of completing, too. */
function formatScript(cases: string, isZsh: boolean): string {
  return `${isZsh ? 'autoload -Uz bashcompinit && bashcompinit\n' : ''}_callback_courier() {
  local word="\${COMP_WORDS[COMP_CWORD]}" offered='${commandNames.join(' ')} --help --version'
  if [ "$COMP_CWORD" -gt 1 ]; then case "\${COMP_WORDS[1]}" in
${cases}    *) offered='' ;;
  esac; fi
  COMPREPLY=($(compgen -W "$offered" -- "$word"))
}
complete -o default -F _callback_courier callback-courier courier
`
}
