import { settingNames } from '../config/settings.ts'
import { say } from '../language/sentence.ts'
import { type Command, readArguments, UsageError } from './command.ts'
import { helpOf } from './help.ts'

export const completion: Command = async (argv, io) => {
  const [shell = ''] = readArguments(argv, {}, { least: 1, most: 1 }).positionals
  if (!helpOf.completion.words.includes(shell))
    throw new UsageError(say('what is “{word}”?', { word: shell }))
  const cases = Object.entries(helpOf).map(([name, { words, options }]) => {
    const offered = [
      ...(name === 'settings' ? settingNames : words),
      ...Object.keys(options).map(head => head.split(' ')[0]),
      '--help',
    ]
    return `    ${name}) offered='${offered.join(' ')}' ;;\n`
  })
  io.stdout.write(formatScript(cases.join(''), shell === 'zsh'))
  return 0
}

/**
 * zsh has bash's way of completing, too. It completes what an alias stands for, which here is docker or node, so an alias becomes a
 * function.
 */
const ZSH_BEFORE = `(( \${+functions[compdef]} )) || { autoload -Uz compinit && compinit; }
autoload -Uz bashcompinit && bashcompinit
if (( \${+aliases[courier]} )); then
  functions[courier]="\${aliases[courier]} \\"\\$@\\""
  unalias courier
fi
`

/** Files are completed where nothing of ours fits. */
function formatScript(cases: string, isZsh: boolean): string {
  return `${isZsh ? ZSH_BEFORE : ''}_callback_courier() {
  local word="\${COMP_WORDS[COMP_CWORD]}" offered='${Object.keys(helpOf).join(' ')} --help --version'
  if [ "$COMP_CWORD" -gt 1 ]; then case "\${COMP_WORDS[1]}" in
${cases}    *) offered='' ;;
  esac; fi
  COMPREPLY=($(compgen -W "$offered" -- "$word"))
}
complete -o default -F _callback_courier callback-courier courier
`
}
