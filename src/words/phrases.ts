import { lineOf } from './json-text.ts'
import { type Engine, type Scope, TemplateFault } from './template-engine.ts'

/** Compiled words: plain text with Liquid in it. */
export type Phrase = (scope: Scope) => string

/** Variables whose values many messages share; with no other in it, a phrase has few different outcomes. */
const SHARED = /^(?:validity|brand\.\w+|locale\.\w+)$/
export const MAX_OUTCOMES = 100

export type PhraseCompiler = ReturnType<typeof createPhraseCompiler>

/**
 * @param source the language file's text
 * @param compileNow whether each phrase is compiled at once, so that a fault shows, or when it is first said
 */
export function createPhraseCompiler(source: string, engine: Engine, compileNow: boolean) {
  function compile(words: string, known: ReadonlySet<string>, pointer: string): Phrase {
    try {
      const compiled = engine.compile(words, known)
      return compiled.variables.every(name => SHARED.test(name)) ? cacheByValidity(compiled) : compiled
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new TemplateFault(`${pointer}: ${reason}`, lineOf(source, pointer), { cause: error })
    }
  }
  function phrase(words: string, known: ReadonlySet<string>, pointer: string): Phrase {
    if (!/\{[{%]/.test(words)) return () => words
    let compiled = compileNow ? compile(words, known, pointer) : undefined
    return scope => (compiled ??= compile(words, known, pointer))(scope)
  }
  return {
    /**
     * @param known the variables that it may name
     * @param pointer where it stands in the language file, to name the line of a fault
     * @throws TemplateFault for words that do not compile or name another variable; the phrase does, when it is compiled
     *   later
     */
    phrase,
    /** The same for one phrase, several, or none. */
    phrases(
      words: string | readonly string[] | undefined = [],
      known: ReadonlySet<string>,
      pointer: string,
    ): readonly Phrase[] {
      if (typeof words === 'string') return [phrase(words, known, pointer)]
      return words.map((one, at) => phrase(one, known, `${pointer}/${at}`))
    },
  }
}

/** Renders once for each validity. Nothing that belongs to one message is ever kept. */
function cacheByValidity(compiled: Phrase): Phrase {
  const outcomes = new Map<unknown, string>()
  return scope => {
    const known = outcomes.get(scope['validity'])
    if (known !== undefined) return known
    const rendered = compiled(scope)
    if (outcomes.size < MAX_OUTCOMES) outcomes.set(scope['validity'], rendered)
    return rendered
  }
}
