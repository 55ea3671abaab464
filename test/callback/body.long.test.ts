import t from 'tap'
import { BodyFault, parseBody } from '../../src/callback/body.ts'

/** Bodies of so many octets that a parser may take long for. */
const SHAPES: readonly ((octets: number) => string)[] = [
  octets => '['.repeat(octets),
  octets => `"${'\\u005f'.repeat(octets / 6 - 1)}"`,
  octets => `[${'{},'.repeat(octets / 3 - 2)}{}]`,
  octets => `{${Array.from({ length: octets / 16 }, (_, at) => `"k${at}":"__proto__"`).join(',')}}`,
  octets => `"${'\\"'.repeat(octets / 2 - 2)}"`,
]

/** @returns ms of the processor, for so many times that it can be measured. */
function costOf(text: string): number {
  const body = Buffer.from(text)
  const before = process.threadCpuUsage()
  for (let n = 0; n < 50; n += 1)
    try {
      parseBody({}, body)
    } catch (error) {
      if (!(error instanceof BodyFault)) throw error
    }
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

t.test('a body of any shape that is four times as long costs about four times as much', async t => {
  for (const shape of SHAPES) {
    const [quarter, whole] = [costOf(shape(64 * 1024)), costOf(shape(4 * 64 * 1024))]
    t.ok(whole < 10 * quarter + 20, `${shape(64).slice(0, 20)}: ${quarter} ms, ${whole} ms`)
  }
})
