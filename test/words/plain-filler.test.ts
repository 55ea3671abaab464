import t from 'tap'
import { createEngine, type Scope } from '../../src/words/template-engine.ts'

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
