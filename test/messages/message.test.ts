import t from 'tap'
import { newMessageId } from '../../src/messages/message.ts'

t.test('ids are 32 hex digits, in the order of arrival, and never the same', async t => {
  const at = 1_790_000_000_000
  const ids = Array.from({ length: 2000 }, () => newMessageId(at))
  t.equal(new Set(ids).size, 2000)
  for (const id of ids) t.match(id, /^[0-9a-f]{32}$/)
  t.ok(newMessageId(at + 1) > (ids.sort().at(-1) ?? ''))
  t.match(newMessageId(0x123), /^000000000123[0-9a-f]{20}$/)
})
