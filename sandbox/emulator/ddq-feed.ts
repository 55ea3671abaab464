import type { ServerHttp2Stream } from 'node:http2'

/** Faults of a subscription's stream that can be switched on, each by itself. */
export const FEED_FAULTS = {
  duplicate: 'every message twice',
  garbage: 'garbage in front of every message',
  order: 'neighbours in the wrong order',
  slow: 'a few bytes at a time',
  chunks: 'cut at any byte',
} as const
export type FeedFault = keyof typeof FEED_FAULTS

/** Sends messages to one subscription. */
export interface Feed {
  send(text: string): void
  close(): void
}

export interface FeedOptions {
  readonly stream: ServerHttp2Stream
  readonly faulty: (fault: FeedFault) => boolean
  /** A whole number from 0 to below `below`. */
  readonly randomInt: (below: number) => number
  /** Called when a message is left out because the client does not read fast enough. */
  readonly onOverrun: () => void
}

/** The most that is kept for a client that does not read; messages beyond it are left out. */
const MOST_WAITING_BYTES = 8 * 1024 * 1024
/** How long a message waits for the next one, to be sent after it, ms. */
const SWAP_WITHIN_MS = 200
const SLOW_BYTES = 24
const SLOW_EVERY_MS = 20

/** Messages that are broken in each of the ways that a client must survive. */
const GARBAGE: readonly (string | Buffer)[] = [
  '{"topic":"/device/alert/product/p","message_id":"g1","payload":{"product_id":"p","corp\n',
  Buffer.of(0, 0, 1, 0xff, 0xfe, 0x0a),
  '{"topic":7,"message_id":"g3","payload":{}}\n',
  '{"topic":"/device/alert/product/p","message_id":"g4","payload":{"alert":"none"}}\n',
  'event: message\n',
  '{"hello":"world"}\n',
  '{"topic":"/device-biz/state/product","message_id":"g7","payload":[1,2]]]}}\n',
  '{]\n',
]

export function createDdqFeed({ stream, faulty, randomInt, onOverrun }: FeedOptions): Feed {
  let delayed: { readonly text: string; readonly timer: NodeJS.Timeout } | undefined
  let garbage = 0
  const trickle = createTrickle(stream, faulty)

  function write(bytes: string | Buffer): void {
    if (stream.destroyed || stream.writableEnded) return
    if (stream.writableLength + trickle.length() > MOST_WAITING_BYTES) return onOverrun()
    if (faulty('slow') || trickle.length() > 0) return trickle.add(Buffer.from(bytes))
    if (!faulty('chunks')) {
      stream.write(bytes)
      return
    }
    const whole = Buffer.from(bytes)
    for (let at = 0; at < whole.length; ) {
      const size = 1 + randomInt(9)
      stream.write(whole.subarray(at, at + size))
      at += size
    }
  }

  function deliver(text: string): void {
    if (faulty('garbage')) {
      write(GARBAGE[garbage % GARBAGE.length] ?? '')
      garbage += 1
    }
    write(text)
    if (faulty('duplicate')) write(text)
  }

  return {
    send(text) {
      if (delayed !== undefined) {
        const earlier = delayed
        delayed = undefined
        clearTimeout(earlier.timer)
        deliver(text)
        deliver(earlier.text)
      } else if (faulty('order')) {
        const timer = setTimeout(() => {
          delayed = undefined
          deliver(text)
        }, SWAP_WITHIN_MS)
        delayed = { text, timer }
      } else deliver(text)
    },
    close() {
      clearTimeout(delayed?.timer)
      trickle.stop()
    },
  }
}

/** Bytes that go out a few at a time, and all that come behind them. */
function createTrickle(stream: ServerHttp2Stream, faulty: FeedOptions['faulty']) {
  let bytes: Buffer = Buffer.alloc(0)
  let timer: NodeJS.Timeout | undefined
  return {
    length: () => bytes.length,
    add(more: Buffer): void {
      bytes = Buffer.concat([bytes, more])
      timer ??= setInterval(() => {
        const size = faulty('slow') ? SLOW_BYTES : bytes.length
        if (!stream.destroyed) stream.write(bytes.subarray(0, size))
        bytes = bytes.subarray(size)
        if (bytes.length > 0) return
        clearInterval(timer)
        timer = undefined
      }, SLOW_EVERY_MS)
    },
    stop: (): void => clearInterval(timer),
  }
}
