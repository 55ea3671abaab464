import { get } from 'node:http'
import { adminAddress } from '../config/sources.ts'
import { quote, say, tell, type Words, withRemedy, wordsOf } from '../language/sentence.ts'
import { type Command, failWith, type Io, readArguments } from './command.ts'

const WITHIN_MS = 3000

export const health: Command = async (argv, io) => {
  const { values } = readArguments(argv, { ready: { type: 'boolean' } })
  const { is, answer } = await requestHealth(io, values.ready === true ? '/readyz' : '/healthz')
  if (is === 200) return 0
  return failWith(io, say('not well: {answer}', { answer: tell(answer) }))
}

/** The status of an answer; or there was none in time (`silent`), or the connection was refused or broke (`away`). */
type Health = { readonly is: number | 'silent' | 'away'; readonly answer: Words }

/** Asks the running service how it is. */
export function requestHealth(io: Io, path: '/healthz' | '/readyz'): Promise<Health> {
  const url = `${adminAddress(io)}${path}`
  return new Promise(resolve => {
    // The whole answer has to be there by then: one that drips would reset a timeout of the socket for ever.
    const within = AbortSignal.timeout(WITHIN_MS)
    const fail = (error: Error) =>
      resolve(
        within.aborted
          ? { is: 'silent', answer: say('{url}: no answer within {n} s', { url, n: WITHIN_MS / 1000 }) }
          : { is: 'away', answer: withRemedy(quote(url), wordsOf(error)) },
      )
    const request = get(url, { signal: within, agent: false }, response => {
      const { statusCode: status } = response
      let body = ''
      response.setEncoding('utf8').on('data', (text: string) => {
        body = (body + text).slice(0, 300)
      })
      // An answer that is cut off has an error, and no end.
      response
        .on('error', fail)
        .on('end', () => resolve({ is: Number(status), answer: quote(`HTTP ${status} ${body}`) }))
    })
    request.on('error', fail)
  })
}
