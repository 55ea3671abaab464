import t from 'tap'
import { retry } from '../../src/runtime/retry.ts'

t.test(
  'a call is tried again after the pauses that its errors ask for, and its value comes back',
  async t => {
    const waits: number[] = []
    const call = async () => {
      if (waits.length < 3) throw new Error('no')
      return 'yes'
    }
    t.equal(
      await retry(call, (error, tries) => waits.push(tries) && (error instanceof Error ? 1 : null)),
      'yes',
    )
    t.same(waits, [1, 2, 3])
  },
)

t.test(
  'an error that does not pass is thrown at once, and after an abort nothing is tried again',
  async t => {
    let calls = 0
    const fail = async () => {
      calls += 1
      throw new Error(`no ${calls}`)
    }
    await t.rejects(
      retry(fail, () => null),
      { message: 'no 1' },
    )
    const stopping = new AbortController()
    const retried = retry(fail, () => 600_000, stopping.signal)
    stopping.abort()
    await t.rejects(retried, { message: 'no 2' }, 'an abort ends the pause')
  },
)
