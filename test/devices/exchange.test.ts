import { Readable } from 'node:stream'
import t from 'tap'
import { readStream } from '../../src/devices/exchange.ts'

const MESSAGE = '{"topic":"a/b","payload":{}}'

/** Reads what comes so many ms after what came before. @returns what became of it */
async function read(parts: readonly (readonly [ms: number, text: string])[]) {
  const costs = { useless: 0, countedAt: 0 }
  let now = 0
  const answers: string[] = []
  const malformed: unknown[] = []
  let [messages, chunks] = [0, 0]
  async function* come() {
    for (const [ms, text] of parts) {
      now += ms
      yield Buffer.from(text)
    }
  }
  const end = await readStream(
    Readable.from(come()),
    {
      onMessage: async () => void (messages += 1),
      onMalformed: what => malformed.push(what),
      onBytes: () => (chunks += 1),
      stopped: () => messages === 40,
      now: () => now,
      costs,
    },
    answer => answers.push(answer),
  ).catch((error: Error) => error.message)
  return { end: end ?? 'ended', messages, chunks, answers, malformed, costs }
}

const FLOOD = 'the server sends a flood of what is no message'
const UNUSABLE = '{"topic":"/device-biz/state/product"}'

/** Chunks in short: `@1000` is a second, a number so many blanks, `{}*3` three objects. */
function chunksOf(short: string): [ms: number, text: string][] {
  let ms = 0
  return short.split(' ').flatMap(each => {
    const [, waited, text = '', times = '1'] = /^(?:@(\d+)|(.*?)(?:\*(\d+))?)$/.exec(each) ?? []
    if (waited !== undefined) ms = Number(waited)
    else return [[ms, /^\d+$/.test(text) ? ' '.repeat(Number(text)) : text.repeat(Number(times))]]
    return []
  })
}

t.test('half a megabyte that is no message ends a connection; a kilobyte is forgiven a second', async t => {
  for (const [name, chunks, end] of [
    ['half a megabyte', '524288', 'ended'],
    ['an octet more', '524289', FLOOD],
    ['a kilobyte more after a second', '524288 @1000 1024', 'ended'],
    ['and an octet more', '524288 @1000 1025', FLOOD],
    ['an hour saves nothing up', '1 @3600000 1 @0 524288 1', FLOOD],
    ['objects that cost 64 each', '{}*7943', 'ended'],
    ['one more of them', '{}*7944', FLOOD],
    ['a message pays for 64 around it', `524000 ${MESSAGE} 352`, 'ended'],
    ['and for no more', `524000 ${MESSAGE} 353`, FLOOD],
    ['one that cannot be used does, too', `524000 ${UNUSABLE} 352`, 'ended'],
    ['one without a topic does not', '524000 {"topic":""} 212', 'ended'],
    ['and costs as much', '524000 {"topic":""} 213', FLOOD],
  ] as const)
    t.equal((await read(chunksOf(chunks))).end, end, name)
})

t.test('what comes is an answer or a message, until nothing more is to be handled', async t => {
  t.match(
    await read([
      [0, '{"code":200}'],
      [0, MESSAGE],
    ]),
    {
      end: 'ended',
      answers: ['{"code":200}', ''],
      messages: 1,
      chunks: 2,
    },
  )
  const pauses = t.capture(globalThis, 'setTimeout', setTimeout)
  t.match(await read([[0, MESSAGE.repeat(50)]]), { end: 'ended', messages: 40 })
  t.equal(pauses().length, 1, 'others get their turn once in 32 messages')
})
