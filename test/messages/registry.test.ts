import { readdir } from 'node:fs/promises'
import t from 'tap'
import { createLinkPolicy } from '../../src/messages/links.ts'
import { kindNamed, kindOf, kinds, messageKinds } from '../../src/messages/registry.ts'

t.test('every file of kinds/ is listed', async t => {
  const files = await readdir(new URL('../../src/messages/kinds/', import.meta.url))
  const listed = [...new Set(messageKinds.map(({ name }) => `${name}.ts`))]
  t.same(files.sort(), listed.sort())
})

t.test('the types are those of the contract', async t => {
  const types = (channel: string) => kinds.filter(kind => kind.channel === channel).map(({ type }) => type)
  t.same(types('email'), [1, 2, 3, 5, 6, 7, 8, 9])
  t.same(types('sms'), [1, 2, 3, 4])
})

t.test('a kind is found by channel and type, and by name', async t => {
  for (const kind of kinds) {
    t.equal(kindOf(kind.channel, String(kind.type)), kind)
    t.equal(kindNamed(kind.channel, kind.name), kind)
  }
  t.equal(kindOf('email', '4'), undefined)
  t.equal(kindOf('sms', '5'), undefined)
  t.equal(kindNamed('sms', 'file'), undefined)
  t.equal(kindNamed('email', 'plain'), undefined)
})

t.test('each sample has what its kind needs and nothing it does not know', async t => {
  const policy = createLinkPolicy({ httpsOnly: true, hosts: ['*.example.com'] })
  for (const { name, needed, also, sample, link, channel } of kinds) {
    t.same(
      Object.keys(sample.params).filter(key => ![...needed, ...also].includes(key)),
      [],
      name,
    )
    t.same(
      needed.filter(key => !(key in sample.params)),
      [],
      name,
    )
    if (link !== undefined) t.equal(policy(sample.params[link] ?? ''), null)
    t.equal(sample.subject !== undefined, channel === 'email')
  }
})
