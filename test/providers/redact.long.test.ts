import t from 'tap'
import { createRedactor } from '../../src/providers/redact.ts'
import { createCostLimit } from '../rigs/processor-time.ts'

const redactor = createRedactor({ to: 'reader@example.com' }, ['a-password'])
const redact = (text: string) => () => redactor.reply(`550 5.1.1 ${text}`)

t.test('a refusal that was made to be looked at for long costs little more than another one', async t => {
  const excessOf = await createCostLimit(redact('The mailbox of reader@example.com is full. '.repeat(46)), 60)
  for (const unit of ['a', '1', 'a.', '@', 'a@', '<', '"a', 'www.', 'a:', 'x1 ', 'é', '1-', ' ', "'"])
    for (const tail of ['', '@', ' @', '://', '"@x']) {
      const text = unit.repeat(1950 / unit.length) + tail
      t.equal(await excessOf(redact(text)), null, JSON.stringify(unit + tail))
    }
})
