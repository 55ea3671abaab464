import t from 'tap'
import { BodyFault, parseBody } from '../../src/callback/body.ts'
import { compareCosts } from '../rigs/processor-time.ts'

/** Bodies of so many octets that a parser may take long for. */
const SHAPES: readonly ((octets: number) => string)[] = [
  octets => '['.repeat(octets),
  octets => `"${'\\u005f'.repeat(octets / 6 - 1)}"`,
  octets => `[${'{},'.repeat(octets / 3 - 2)}{}]`,
  octets => `{${Array.from({ length: octets / 16 }, (_, at) => `"k${at}":"__proto__"`).join(',')}}`,
  octets => `"${'\\"'.repeat(octets / 2 - 2)}"`,
]

function parse(text: string): () => void {
  const body = Buffer.from(text)
  return () => {
    try {
      parseBody({}, body)
    } catch (error) {
      if (!(error instanceof BodyFault)) throw error
    }
  }
}

t.test('a body of any shape that is four times as long costs about four times as much', async t => {
  for (const shape of SHAPES) {
    const times = await compareCosts(parse(shape(4 * 64 * 1024)), parse(shape(64 * 1024)))
    t.ok(times < 10, `${shape(64).slice(0, 20)}: ${times.toFixed(1)}`)
  }
})
