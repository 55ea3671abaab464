import { readFileSync } from 'node:fs'
import t from 'tap'
import { callbackKinds, type MessageKind, VALIDITY_UNIT } from '../../src/messages/kinds.ts'
import { sampleIn, samples } from '../../src/messages/samples.ts'

t.test('the types are those of the contract, each with its parameters and its sample', async t => {
  const said = samples.map(({ channel, name, kind, content }) => {
    const { purpose = 'plain', required = [], params = [], linkParam = 'nothing' } = kind ?? {}
    const [needs, may] = [required, params.filter(each => !required.includes(each))].map(
      each => each.join(' ') || 'nothing',
    )
    const inWords = ({ subject = 'no subject', params }: MessageKind['sample'], more = '') =>
      [subject, ...Object.entries(params).map(each => each.join('=')), more]
        .filter(each => each !== '')
        .join(', ')
    const type = kind && 'type' in kind ? String(kind.type) : '-'
    const chinese = kind ? inWords(sampleIn('zh-CN', kind)) : 'as it comes'
    return `${channel} ${type} ${name}: ${purpose}, needs ${needs}, may say ${may}, links to ${linkParam}\n  ${inWords(content, content.plain)}\n  ${chinese}\n`
  })
  t.equal(said.join(''), readFileSync(new URL('../fixtures/kinds.txt', import.meta.url), 'utf8'))
})

t.test('docs/contract-readings.md lists every kind with all its parameters', async t => {
  const docs = readFileSync(new URL('../../docs/contract-readings.md', import.meta.url), 'utf8')
  for (const { channel, type, name, params } of callbackKinds) {
    const row = new RegExp(`^\\| ${type} \\| \`${name}\` \\|(.*)$`, 'm').exec(docs)?.[1] ?? ''
    const listed = row.match(/(?<=`)\w+(?=`)/g) ?? []
    t.same(listed.toSorted(), [...new Set([...params, VALIDITY_UNIT[channel]])].toSorted(), name)
  }
})
