import t from 'tap'
import { watchFiles } from '../../src/runtime/file-watch.ts'
import { enterVirtualTime } from '../rigs/virtual-time.ts'

t.test('a change is reported once, when the files are the same at two looks', async t => {
  const { pass } = enterVirtualTime(t)
  const looks = ['a', 'b', 'c', 'c', 'c', 'a', 'a']
  const reported: number[] = []
  let at = -1
  const close = watchFiles({
    fingerprint: async () => looks[(at += 1)] ?? 'a',
    known: 'a',
    everyMs: 1000,
    onChange: () => reported.push(at),
  })
  await pass(7000)
  t.same(reported, [3, 6])
  close()
  await pass(7000)
  t.equal(at, 7)
})

t.test('files that nobody described when they were read are read again once', async t => {
  const { pass } = enterVirtualTime(t)
  let changes = 0
  const onChange = () => void (changes += 1)
  const close = watchFiles({ fingerprint: () => 'same', everyMs: 1000, onChange })
  await pass(4000)
  close()
  t.equal(changes, 1)
})
