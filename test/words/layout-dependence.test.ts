import { readFile } from 'node:fs/promises'
import t from 'tap'
import { type Sample, sampleMessage, samples, withOtherValues } from '../../src/messages/samples.ts'
import { findDependence } from '../../src/words/layout-dependence.ts'
import { messageOf, rawOf, readMail, rendererFor } from './rendering.ts'

const BUILT_IN = new URL('../../src/words/templates/', import.meta.url)
const built = async (file: string) => readFile(new URL(file, BUILT_IN), 'utf8')

t.test('the built-in layouts can be precompiled', async t => {
  for (const file of ['layout.html', 'layout.txt'])
    t.equal(findDependence(await built(file)), undefined, file)
})

t.test('what depends on no more than they do can be, too', async t => {
  for (const layout of [
    '{{ subject }}{{- code -}}{{ link.url }}{{ link.host }}{{ words.heading }}{{brand.name}}{{ locale.dir }}',
    "{% if code and words.button %}a{% elsif words.code_length == 'long' or brand.url %}b{% else %}c{% endif %}",
    "{% if locale.tag == brand.url %}a{% endif %}{% if brand.name == 'x' or code %}b{% endif %}",
    '{% for p in words.before %}{% unless forloop.first %}<hr>{% endunless %}{{ p }}{% endfor %}',
    '{% for row in words.details %}{{ row.label }}: {{ row.value }}{{ forloop.index }}{% endfor %}',
    "{% case words.code_length %}{% when 'short', 'medium' %}a{% else %}b{% endcase %}{{ ' ' }}",
    '{% # a remark %}{% comment %}{{ code | upcase }}{% endcomment %}{% if words.before.size > 1 %}x{% endif %}',
    "{% layout 'layout.html' %}{% block content %}{{ words.text | autolink }}{% endblock %}",
  ])
    t.equal(findDependence(layout), undefined, layout)
})

t.test('anything else is found, with its line', async t => {
  for (const markup of [
    '{{ code | upcase }}',
    '{{ code | raw }}',
    '{{ validity }}',
    '{{ email }}',
    '{{ plain_email }}',
    '{{ words.text | default: code }}',
    '{{ words.before[0] }}',
    '{{ words.before }}',
    '{{ "now" | date: "%Y" }}',
    "{{ '}}{{ code | upcase }}' }}",
    "{% if code == '1234' %}",
    "{% if subject and code == '1234' %}",
    "{% if code contains '1' %}",
    '{% if code > "5" %}',
    '{% if words.heading.size > 20 %}',
    '{% if words.heading == blank %}',
    '{% unless validity %}',
    '{% case code %}',
    "{% assign x = 'y' %}",
    '{% capture x %}',
    '{% for p in words.before limit: 2 %}',
    '{% for c in code %}',
    '{% raw %}',
    '{% liquid echo code %}',
    "{% cycle 'a', 'b' %}",
    '{% render "layout.txt" %}',
    '{% for p in words.before %}{{ p.size }}',
    '{% for row in words.details %}{{ row }}',
    '{% for x in words.details %}{{ x.label }}{% endfor %}{% for x in words.before %}',
  ])
    t.match(findDependence(`a\n{{ subject }}\n${markup}`), { line: 3, because: /^\{/ }, markup)
})

t.test('an own layout gives the same mails, precompiled or not', async t => {
  const own = (await built('layout.html'))
    .replace('<h1 ', '<!-- {{ subject }} {{ link.host }} --><h1 title="{{ words.heading }}" ')
    .replace('{%- block content %}', '{% if words.details.size > 0 %}rows{% endif %}{%- block content %}')
    .replaceAll('\n', '\r\n')
  const renderer = rendererFor({ templatesDir: t.testdir({ 'layout.html': own }) })
  t.teardown(() => renderer.close())
  t.same(renderer.problems(), [])
  t.same(renderer.renderedInFull(), [])
  const lines = (part: string) => part.replaceAll('\r\n', '\n').trimEnd()
  // The second is made of what was precompiled for the first.
  for (const sample of samples.filter(({ channel }) => channel === 'email'))
    for (const locale of renderer.locales)
      for (const one of [sample, withOtherValues(sample), hostile(sample)]) {
        const message = sampleMessage(one, locale)
        const [mail, view] = [await readMail(rawOf(renderer, message)), renderer.viewMail(message)]
        t.equal(lines(mail.html), lines(view.html), `${sample.name} in ${locale}`)
        t.equal(lines(mail.text), lines(view.text), `${sample.name} in ${locale}`)
      }
})

/** The same with markup, Liquid, placeholders and letters beyond ASCII in every value but the link. */
function hostile({ kind, content, ...rest }: Sample): Sample {
  const params = Object.fromEntries(
    Object.entries(content.params).map(([key, value]) =>
      key === kind?.linkParam || key === 'hour' ? [key, value] : [key, '<b>&"\'{{ code }}%}é=20 $& 系統'],
    ),
  )
  return { kind, content: { ...content, params }, ...rest }
}

t.test('a layout that is rendered in full is named', async t => {
  const renderer = rendererFor({
    templatesDir: t.testdir({
      'layout.txt': '{{ words.heading }}\n{{ code | upcase }}',
      messages: { 'file.html': 'Valid: {{ validity }}' },
    }),
  })
  t.teardown(() => renderer.close())
  t.same(renderer.renderedInFull(), [
    { file: 'messages/file.html', line: 1, because: '{{ validity }}' },
    { file: 'layout.txt', line: 2, because: '{{ code | upcase }}' },
  ])
})

t.test('a mail whose layout is rendered in full gets it so, also where its own file extends it', async t => {
  const own = "{% layout 'layout.txt' %}{% block content %}own{% endblock %}"
  for (const [name, said] of [
    ['file.txt', 'ours'],
    ['phone-change.txt', 'own'],
  ] as const) {
    const layout = '{{ code | upcase }} {% block content %}ours{% endblock %}'
    const files = { 'layout.txt': layout, messages: { [name]: own } }
    const renderer = rendererFor({ templatesDir: t.testdir(files) })
    for (const code of ['abc', 'xyz']) {
      const message = messageOf('email', 'phone-change', { params: { code } })
      const { text } = await readMail(rawOf(renderer, message))
      t.equal(text.trim(), `${code.toUpperCase()} ${said}`)
    }
    renderer.close()
  }
})
