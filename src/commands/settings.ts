import { allSettings, groups, type SettingName, settingNames, settingOf } from '../config/settings.ts'
import { nearestName, replacementOf } from '../config/sources.ts'
import { languageOfTerminal } from '../language/choose.ts'
import { type Sentence, say, tell, tellAll } from '../language/sentence.ts'
import { fillLines } from '../runtime/terminal.ts'
import type { Setting } from '../settings/setting.ts'
import { type Command, readArguments, writeLine } from './command.ts'

export const settings: Command = async (argv, io) => {
  const { positionals } = readArguments(argv, {}, { least: 0, most: 1 })
  const [asked] = positionals
  if (asked === undefined) {
    for (const { title, settings: own } of groups) {
      writeLine(io, 'stdout', tell(title))
      io.stdout.write(`  ${Object.keys(own).join('\n  ')}\n\n`)
    }
    return 0
  }
  const name = asked.toUpperCase().replace(/=.*$/s, '').replaceAll('-', '_')
  const known = [name, name.replace(/_FILE$/, '')].find(each => settingOf(each) !== null)
  if (known !== undefined) {
    io.stdout.write(`${known}\n`)
    for (const sentences of describeSetting(known as SettingName, text => text)) {
      const text = tellAll(sentences).in(languageOfTerminal(io.env))
      for (const line of fillLines(text, 114)) io.stdout.write(`  ${line}\n`)
    }
    return 0
  }
  const near = nearestNames(name)
  writeLine(io, 'stderr', say('There is no setting {name}.', { name: asked }))
  if (near.length > 0) writeLine(io, 'stderr', say('Near to it: {names}', { names: near.join(', ') }))
  return 1
}

/** Names that were perhaps meant: by a slip of the hand, or by a part of the name. */
function nearestNames(name: string): readonly string[] {
  const near = replacementOf(name) ?? nearestName(name, settingNames) ?? []
  const found = [near, settingNames.filter(each => each.includes(name))].flat()
  return [...new Set(found)].slice(0, 8)
}

/**
 * What an operator has to know of a setting: its effect, then its form. docs/settings.md says the same.
 * @param code marks what is to be written as it stands.
 */
export function describeSetting(
  name: SettingName,
  code: (text: string) => string,
): readonly (readonly Sentence[])[] {
  const {
    meaning,
    choices,
    range,
    example,
    secret,
    parts = {},
    ...setting
  }: Setting<unknown> = allSettings[name]
  const usual = setting.default === '{}' ? '' : (setting.default ?? '')
  return [
    [tell(meaning)],
    ...Object.entries(parts).map(([part, text]) => [
      say('- {part}: {meaning}', { part: code(part), meaning: tell(text) }),
    ]),
    [
      ...(setting.required === true ? [say('Has to be set.')] : []),
      ...(usual === '' ? [] : [say('Default: {value}.', { value: code(String(usual)) })]),
      ...(choices === undefined ? [] : [say('One of: {values}.', { values: choices.map(code).join(', ') })]),
      ...(range === undefined
        ? []
        : [say('From {minimum} to {maximum}.', { minimum: range[0], maximum: range[1] })]),
      ...(secret === true
        ? [say('Secret; may stand in a file that {name} names.', { name: code(`${name}_FILE`) })]
        : []),
      ...(example === undefined ? [] : [say('Example: {example}', { example: code(example) })]),
    ],
  ]
}
