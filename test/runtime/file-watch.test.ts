import t from 'tap'
import { watchFiles } from '../../src/runtime/file-watch.ts'

/** The watch alone keeps no process alive. */
const alive = setInterval(() => {}, 1000)
t.teardown(() => clearInterval(alive))

t.test('a change is reported once, when the files are the same at two looks', async t => {
  const looks = ['a', 'b', 'c', 'c', 'c', 'a', 'a']
  const reported: number[] = []
  let at = -1
  await new Promise<void>(resolve => {
    const close = watchFiles({
      fingerprint: async () => {
        at += 1
        if (at === looks.length) {
          close()
          resolve()
        }
        return looks[at] ?? 'a'
      },
      known: 'a',
      everyMs: 1,
      onChange: () => reported.push(at),
    })
  })
  t.same(reported, [3, 6])
})

t.test('files that nobody described when they were read are read again once', async t => {
  let looks = 0
  let changes = 0
  const close = watchFiles({
    fingerprint: () => `${(looks += 1) && 'same'}`,
    everyMs: 1,
    onChange: () => {
      changes += 1
    },
  })
  while (looks < 5) await new Promise(resolve => setTimeout(resolve, 1))
  close()
  t.equal(changes, 1)
})
