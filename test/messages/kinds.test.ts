import { readFile } from 'node:fs/promises'
import t from 'tap'
import {
  callbackKinds,
  findKind,
  findKindByType,
  messageKinds,
  VALIDITY_UNIT,
} from '../../src/messages/kinds.ts'
import { createLinkPolicy } from '../../src/messages/links.ts'

t.test('the types are those of the contract', async t => {
  const types = (channel: string) =>
    callbackKinds.filter(kind => kind.channel === channel).map(({ type }) => type)
  t.same(types('email'), [1, 2, 3, 5, 6, 7, 8, 9])
  t.same(types('sms'), [1, 2, 3, 4])
})

t.test('a kind is found by channel and type, and by name', async t => {
  for (const kind of callbackKinds) {
    t.equal(findKindByType(kind.channel, String(kind.type)), kind)
    t.equal(findKind(kind.channel, kind.name), kind)
  }
  t.equal(findKindByType('email', '4'), undefined)
  t.equal(findKindByType('sms', '5'), undefined)
  t.equal(findKind('sms', 'file'), undefined)
  t.equal(findKind('email', 'plain'), undefined)
})

t.test('each sample has what its kind requires, and no parameter that its kind does not name', async t => {
  const policy = createLinkPolicy({ httpsOnly: true, hosts: ['*.example.com'] })
  for (const { name, required, optional, sample, linkParam } of messageKinds) {
    t.same(
      Object.keys(sample.params).filter(key => ![...required, ...optional].includes(key)),
      [],
      name,
    )
    t.same(
      required.filter(key => !(key in sample.params)),
      [],
      name,
    )
    if (linkParam !== undefined) t.equal(policy(sample.params[linkParam] ?? ''), null)
  }
  for (const { sample, channel } of callbackKinds) t.equal(sample.subject !== undefined, channel === 'email')
})

t.test('docs/contract-readings.md lists every kind with all its parameters', async t => {
  const docs = await readFile(new URL('../../docs/contract-readings.md', import.meta.url), 'utf8')
  for (const { channel, type, name, required, optional } of callbackKinds) {
    const row = new RegExp(`^\\| ${type} \\| \`${name}\` \\|(.*)$`, 'm').exec(docs)?.[1] ?? ''
    const listed = row.match(/(?<=`)\w+(?=`)/g) ?? []
    t.same(
      listed.toSorted(),
      [...new Set([...required, ...optional, VALIDITY_UNIT[channel]])].toSorted(),
      name,
    )
  }
})
