import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import t from 'tap'
import { createResolveTxt, readTxt } from '../../../src/commands/check/sender.ts'
import { inEnglish } from '../../language/english.ts'

t.test('a name server that never answers is given up soon', async t => {
  const silent = createSocket('udp4')
  await new Promise<void>(resolve => silent.bind(0, '127.0.0.1', resolve))
  t.teardown(() => silent.close())
  const { port } = silent.address()
  const resolver = new Resolver({ timeout: 3_600_000, tries: 1 })
  resolver.setServers([`127.0.0.1:${port}`])
  const looked = await readTxt(createResolveTxt(200, resolver), 'example.com')
  t.match(inEnglish(looked), { why: 'ECANCELLED' })
})

t.test('nothing under a name is told apart from nobody to ask', async t => {
  const failing = (code: string) => () => Promise.reject(Object.assign(new Error('x'), { code }))
  t.same(await readTxt(failing('ENODATA'), 'a'), { records: [] })
})
