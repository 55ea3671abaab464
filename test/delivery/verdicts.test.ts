import t from 'tap'
import type { Verdict } from '../../src/delivery/port.ts'
import { createVerdicts } from '../../src/delivery/verdicts.ts'

const sent: Verdict = { is: 'final', state: 'sent', answer: null }

t.test('everybody who waits hears it once; who stopped waiting does not', async t => {
  const verdicts = createVerdicts()
  const heard: string[] = []
  verdicts.wait('a', () => heard.push('one'))
  verdicts.wait('a', () => heard.push('two'))
  verdicts.wait('a', () => heard.push('three'))()
  verdicts.wait('b', () => heard.push('other'))
  verdicts.announce('a', sent)
  verdicts.announce('a', sent)
  t.same(heard, ['one', 'two'])
})

t.test('a final one is known to who comes later; a pending one is not, since it may change', async t => {
  const verdicts = createVerdicts()
  const heard: Verdict[] = []
  verdicts.announce('a', sent)
  verdicts.wait('a', verdict => heard.push(verdict))
  verdicts.announce('b', { is: 'pending' })
  verdicts.wait('b', verdict => heard.push(verdict))
  t.same(heard, [sent])
})

t.test('the latest ends are remembered, and no more than twice as many', async t => {
  const verdicts = createVerdicts(2)
  const ids = ['a', 'b', 'c', 'd', 'e']
  for (const id of ids) {
    verdicts.announce(id, sent)
    verdicts.announce(id, sent)
  }
  const heard: string[] = []
  for (const id of ids) verdicts.wait(id, () => heard.push(id))
  t.same(heard, ['c', 'd', 'e'])
})

t.test('after the end nobody waits: what is not known is pending', async t => {
  const verdicts = createVerdicts()
  const heard: (readonly [string, Verdict])[] = []
  verdicts.announce('a', sent)
  verdicts.wait('b', verdict => heard.push(['b', verdict]))
  verdicts.end()
  for (const id of ['a', 'c']) verdicts.wait(id, verdict => heard.push([id, verdict]))
  t.same(heard, [
    ['b', { is: 'pending' }],
    ['a', sent],
    ['c', { is: 'pending' }],
  ])
})
