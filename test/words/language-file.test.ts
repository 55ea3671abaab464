import { readdir, readFile } from 'node:fs/promises'
import t from 'tap'
import { readLanguage, renderSamples } from '../../src/words/catalog.ts'
import { readLanguageFile } from '../../src/words/language-file.ts'
import { createEngine, templateFaultOf } from '../../src/words/template-engine.ts'
import { createBrand, layoutVariables } from '../../src/words/template-variables.ts'

const LOCALES = new URL('../../src/words/templates/locales/', import.meta.url)
const english = await readFile(new URL('en.json', LOCALES), 'utf8')

// At a start they are not tried.
t.test('the languages of the service have everything, and nothing that nobody reads', async t => {
  const brand = createBrand({ name: 'Northwind', url: 'https://northwind.example' })
  const layouts = await Promise.all(
    (['html', 'txt'] as const).map(async part => {
      const text = await readFile(new URL(`../layout.${part}`, LOCALES), 'utf8')
      return createEngine(part === 'html' ? 'html' : 'none').compile(text, layoutVariables)
    }),
  )
  for (const file of await readdir(LOCALES)) {
    const text = await readFile(new URL(file, LOCALES), 'utf8')
    const language = readLanguage(file.replace('.json', ''), text, undefined, createEngine('none'), brand)
    for (const layout of layouts) t.doesNotThrow(() => renderSamples(layout, language, brand), file)
  }
})

type Json = Record<string, unknown>

/** English after a change, as a file, and the fault that is found in it. */
function faultAfter(change: (language: Record<string, Json>) => void): string {
  const language = JSON.parse(english) as Record<string, Json>
  change(language)
  const text = JSON.stringify(language, null, 2)
  try {
    readLanguageFile(text, undefined)
    return 'none'
  } catch (error) {
    const { message, line } = templateFaultOf(error)
    return `${text.split('\n')[(line ?? 0) - 1]?.trim()} → ${message}`
  }
}

t.test('each fault is named by its pointer and its line', async t => {
  const mail = (words: unknown) => (language: Record<string, Json>) => {
    ;(language['mail'] ?? {})['file'] = words
  }
  const words = { heading: 'h', preheader: 'p', button: 'b' }
  const unknown = 'must NOT have additional properties'
  for (const [change, fault] of [
    [language => delete language['common'], "{ → the file must have required property 'common'"],
    [language => Object.assign(language, { extra: 1 }), `"extra": 1 → the file ${unknown}: extra`],
    [
      language => Object.assign(language, { language: ' ' }),
      '"language": " ", → language must match pattern "\\S"',
    ],
    [language => Object.assign(language, { dir: 'up' }), '"dir": "up", → dir must be one of ltr, rtl'],
    [language => Object.assign(language, { common: [] }), '"common": [], → common must be object'],
    [
      language => Object.assign(language['validity'] ?? {}, { week: { other: '1' } }),
      `"week": { → validity ${unknown}: week`,
    ],
    [
      language => Object.assign(language['validity'] ?? {}, { day: { one: '1' } }),
      `"day": { → validity/day must have required property 'other'`,
    ],
    [
      language => Object.assign(language['validity'] ?? {}, { day: { other: '1', plural: '2' } }),
      `"plural": "2" → validity/day ${unknown}: plural`,
    ],
    [mail({ ...words, heading: 1 }), '"heading": 1, → mail/file/heading must be string'],
    [mail({ heading: 'h', button: 'b' }), `"file": { → mail/file must have required property 'preheader'`],
    [mail({ heading: 'h', preheader: 'p' }), `"file": { → mail/file must have required property 'button'`],
    [mail({ ...words, before: ['b', ''] }), '"" → mail/file/before/1 must match pattern "\\S"'],
    [mail({ ...words, after: [] }), '"after": [] → mail/file/after must NOT have fewer than 1 items'],
    [
      mail({ ...words, details: { download_url: null } }),
      '"download_url": null → mail/file/details/download_url must be string',
    ],
    [mail({ ...words, 'a/b': 'x' }), `"a/b": "x" → mail/file ${unknown}: a/b`],
    [mail('none'), '"file": "none", → mail/file must be object'],
    [mail('activation-code'), '"file": "activation-code", → mail/file must be object'],
    [mail('phone-change'), `"file": "phone-change", → mail/file must have required property 'button'`],
    [mail(7), '"file": 7, → mail/file must be object'],
    [
      language => Object.assign(language['sms'] ?? {}, { 'login-code': [] }),
      '"login-code": [], → sms/login-code must NOT have fewer than 1 items',
    ],
  ] as readonly [(language: Record<string, Json>) => void, string][])
    t.equal(faultAfter(change), fault)
})
