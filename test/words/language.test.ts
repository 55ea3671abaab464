import t from 'tap'
import { findKind } from '../../src/messages/kinds.ts'
import { compileLanguage } from '../../src/words/language.ts'
import type { LanguageSource } from '../../src/words/language-file.ts'
import { createEngine, type Scope } from '../../src/words/template-engine.ts'
import { wordVariables } from '../../src/words/template-variables.ts'

const KNOWN = wordVariables('sms', findKind('sms', 'registration-code'))
const liquid = createEngine('none')

/** Says an SMS in a language that has these words for it. */
function languageOf(words: string) {
  const source: LanguageSource = {
    language: 'English',
    dir: 'ltr',
    validity: {},
    common: { link: 'link', footer: 'footer' },
    mail: {},
    sms: { 'registration-code': words },
  }
  const language = compileLanguage('en', source, liquid, () => 1)
  return (scope: Scope) => [...language.smsVariants('registration-code', scope)][0]
}

t.test('a mail says how much room its code takes, and its preheader is cut', async t => {
  const source: LanguageSource = {
    language: 'العربية',
    dir: 'rtl',
    validity: {},
    common: { link: 'link', footer: 'footer' },
    mail: {
      'phone-change': {
        heading: 'h',
        preheader: '{{ code }}',
        before: ['{% if validity %}{{ validity }}{% endif %} ', 'always'],
        details: { code: 'label' },
        button: 'button',
        after: ' after ',
      },
    },
    sms: {},
  }
  const arabic = compileLanguage('ar', source, liquid)
  t.match(arabic, { dir: 'rtl', start: 'right', end: 'left' })
  const english = compileLanguage('en', { ...source, dir: 'ltr' }, liquid)
  t.match(english, { start: 'left', end: 'right' })
  const said = (code: string) => arabic.mailWords('phone-change', { code, validity: null })
  for (const [length, room] of [
    [8, 'short'],
    [9, 'medium'],
    [16, 'medium'],
    [17, 'long'],
  ] as const)
    t.equal(said('x'.repeat(length)).code_length, room, `${length}`)
  t.strictSame(said('x'), {
    heading: 'h',
    preheader: 'x',
    // A paragraph without words is none.
    before: ['always'],
    text: null,
    shows_code: true,
    code_length: 'short',
    details: [{ label: 'label', value: 'x' }],
    button: 'button',
    link: 'link',
    after: ['after'],
    footer: 'footer',
  })
  const [x, y] = ['x'.repeat(60), 'y'.repeat(86)]
  for (const [whole, cut] of [
    ['x'.repeat(89), 'x'.repeat(89)],
    ['x'.repeat(90), `${'x'.repeat(88)}…`],
    [`${x} ${y}`, `${x}…`],
    [`a ${y}yyy`, `a ${y}…`],
    [' a\n\tb ', 'a b'],
  ] as const)
    t.equal(said(whole).preheader, cut)
})

const PRINTING = [
  'no variable',
  '{{ code }}',
  '{{code}} is it{% if validity %}, for {{ validity }}{% endif %}.',
  '{% if code %}a{% else %}b{{ validity }}{% endif %}',
  '{% if code %}{% if validity %}both{% else %}one{% endif %}{% endif %}',
  'a {%- if code -%} x {%- else -%} y {% endif -%}  b\n {{- validity }} c',
  '{{ brand.name }}: {{ code }}{% if brand.url %} at {{brand.url}}{% else %}, {{ locale.tag }}{% endif %}',
  '{ {{ code }} } %} }}{% if true %}{{ validity }}{% endif %}{% if nil %}no{% endif %}',
]
const OTHERS = [
  '{% if code %}a{% elsif validity %}b{% endif %}',
  '{% if code == "1" %}a{% endif %}{{ code }}',
  '{% unless code %}a{% endunless %}{{ validity }}',
  '{% assign what = code | default: validity %}{{ what }}',
  '{{ code | upcase }}',
  '{% raw %}{{ code }}{% endraw %}{{ code }}',
  '{{ code.size }}{{ code }}',
  '{{ brand.name.size }}',
  '\uE000{{ code }}\uE001',
]
const VALUES = ['', '1', 'Ä{{ validity }}', '<b>', '\uE0001\uE001', null]

t.test('words come out as Liquid would have them', async t => {
  for (const words of [...PRINTING, ...OTHERS]) {
    const say = languageOf(words)
    const compiled = liquid.compile(words, KNOWN)
    for (const code of VALUES)
      for (const validity of VALUES) {
        const brand = { name: 'Acme', url: validity }
        const scope = { code, validity, brand, locale: { tag: 'en' }, signature: 'Acme' }
        t.equal(say(scope), compiled(scope), `${words} of ${JSON.stringify(scope)}`)
      }
  }
})

t.test('what is neither text nor null is judged by Liquid', async t => {
  const say = languageOf('{{ code }}{% if validity %}!{% endif %}')
  t.same([say({ code: 7, validity: false }), say({ code: ['a', 'b'], validity: 0 })], ['7', 'ab!'])
  t.throws(() => say({ code: '1' }), /undefined variable: validity/)
  t.throws(() => say({ validity: '1' }), /undefined variable: code/)
})
