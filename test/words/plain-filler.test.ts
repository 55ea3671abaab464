import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { Liquid } from 'liquidjs'
import t from 'tap'
import { createEngine, type Scope } from '../../src/words/template-engine.ts'
import { anyCharacter } from '../fixtures/arbitraries.ts'

const KNOWN = new Set(['code', 'validity', 'brand'])
/** Liquid itself, since all that is printed goes through a function. */
const liquid = createEngine(value => (typeof value === 'string' ? value : ''))
const engine = createEngine('none')

const TEMPLATES = [
  'no variable',
  '{{ code }}',
  '{{code}} is it{% if validity %}, for {{ validity }}{% endif %}.',
  '{% if code %}a{% else %}b{{ validity }}{% endif %}',
  '{% if code %}{% if validity %}both{% else %}one{% endif %}{% endif %}',
  'a {%- if code -%} x {%- else -%} y {% endif -%}  b\n {{- validity }} c',
  // These are Liquid's own.
  '{% if code %}a{% elsif validity %}b{% endif %}',
  '{% if code == "1" %}a{% endif %}',
  '{% unless code %}a{% endunless %}',
  '{% assign what = code | default: validity %}{{ what }}',
  '{{ code | upcase }}',
  '{{ "code" }}{{ brand.name }}{{ brand["name"] }}',
  '{% raw %}{{ code }}{% endraw %}',
]
const VALUES = ['', 'Ä{{ validity }}', '<b>', null]

t.test('a template that only prints variables comes out as Liquid would have it', async t => {
  for (const template of TEMPLATES) {
    const [ours, theirs] = [engine, liquid].map(each => each.compile(template, KNOWN))
    for (const code of VALUES)
      for (const validity of VALUES) {
        const scope = { code, validity, brand: { name: 'Acme' } }
        t.equal(ours?.(scope), theirs?.(scope), `${template} of ${JSON.stringify(scope)}`)
      }
  }
})

t.test('what is neither text nor null is judged by Liquid', async t => {
  const print = engine.compile('{{ code }}{% if validity %}!{% endif %}', KNOWN)
  const scopes: readonly Scope[] = [
    { code: 7, validity: false },
    { code: ['a', 'b'], validity: 0 },
  ]
  t.same(scopes.map(print), ['7', 'ab!'])
  t.throws(() => print({ code: '1' }), /undefined variable: validity/)
  t.throws(() => print({ validity: '1' }), /undefined variable: code/)
})

const NAMES = ['code', 'validity', 'size', 'first', 'brand', 'a-b']

/** Templates of everything that may stand in the words, most of it what is put together without Liquid. */
const anyTemplate: fc.Arbitrary<string> = fc.letrec<{ template: string; piece: string }>(tie => {
  const name = fc.constantFrom(...NAMES)
  const trim = fc.constantFrom('', '-')
  const blank = fc.constantFrom('', ' ', '\n', ' \t ')
  const around = (inner: fc.Arbitrary<string>, [open, close]: readonly [string, string]) =>
    fc
      .tuple(trim, blank, inner, fc.constantFrom(' ', '  ', '\n'), trim)
      .map(([left, before, text, after, right]) => `${open}${left}${before}${text}${after}${right}${close}`)
  const tag = (inner: fc.Arbitrary<string>) => around(inner, ['{%', '%}'])
  const output = around(
    fc.oneof(
      { weight: 6, arbitrary: name },
      name.map(each => `${each} | upcase`),
      name.map(each => `${each}.name`),
      name.map(each => `["${each}"]`),
      name.map(each => `[${each}]`),
      fc.tuple(name, name).map(([one, other]) => `${one} ${other}`),
      fc.constantFrom('"code"', '7', 'nil', 'true', 'empty', ''),
    ),
    ['{{', '}}'],
  )
  const condition = fc.oneof(
    { weight: 6, arbitrary: name },
    fc.tuple(name, name).map(names => names.join(' or ')),
    name.map(each => `${each} == nil`),
    name.map(each => `not ${each}`),
    name.map(each => `${each} | size`),
    fc.constantFrom('"x"', 'false', 'blank'),
  )
  const choice = fc
    .tuple(
      tag(condition.map(each => `if ${each}`)),
      tie('template'),
      fc.option(fc.tuple(tag(condition.map(each => `elsif ${each}`)), tie('template')), { freq: 5 }),
      fc.option(fc.tuple(tag(fc.constant('else')), tie('template'))),
      tag(fc.constant('endif')),
    )
    .map(parts =>
      parts
        .flat()
        .filter(each => each !== null)
        .join(''),
    )
  return {
    template: fc.array(tie('piece'), { maxLength: 4, depthIdentifier: 'template' }).map(all => all.join('')),
    piece: fc.oneof(
      { maxDepth: 4, depthIdentifier: 'template' },
      fc.oneof(
        blank,
        fc.string({ unit: fc.constantFrom('a', '<', '&', '"', ' ', '\n', '{', '}', '%', '-', 'ü') }),
      ),
      output,
      fc.constantFrom(
        '{% raw %} {{ code }} {% endraw %}',
        '{% comment %}{{ code }}{% endcomment %}',
        '{% # no %}',
      ),
      fc.constantFrom('{% assign code = "new" %}', '{% capture validity %} x {% endcapture %}'),
      choice,
    ),
  }
}).template

const anyScope = fc.record(
  Object.fromEntries(
    NAMES.map(name => [
      name,
      fc.oneof(
        { weight: 6, arbitrary: fc.string({ unit: anyCharacter, maxLength: 8 }) },
        { weight: 2, arbitrary: fc.constantFrom('', ' ', '<b>&amp;"', '{{ code }}', '{% if code %}') },
        { weight: 2, arbitrary: fc.constant(null) },
        fc.constantFrom(7, 0, true, false, ['a', null], { name: 'Acme' }),
      ),
    ]),
  ),
  { requiredKeys: NAMES.slice(0, 2) },
)

/** A text, or the fault that there is none. */
function textOf(fill: () => unknown): unknown {
  try {
    return fill()
  } catch (error) {
    return { fault: (error as Error).message.replace(/, (?:file|line):.*$/s, '') }
  }
}

t.test('whatever the template and the values are, the text is Liquid’s, and so are its faults', async t => {
  const reference = new Liquid({ strictVariables: true, strictFilters: true, ownPropertyOnly: true })
  const known = new Set(NAMES)
  let texts = 0
  fc.assert(
    fc.property(anyTemplate, fc.array(anyScope, { minLength: 1, maxLength: 5 }), (template, scopes) => {
      let fill: (scope: Scope) => string
      try {
        fill = engine.compile(template, known)
      } catch {
        return true
      }
      return scopes.every(scope => {
        const expected = textOf(() => reference.parseAndRenderSync(template, scope))
        if (typeof expected === 'string') texts += 1
        return isDeepStrictEqual(
          textOf(() => fill(scope)),
          expected,
        )
      })
    }),
  )
  t.ok(texts > 50, `${texts} texts were compared`)
})
