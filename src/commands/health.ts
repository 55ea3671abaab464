import { get } from 'node:http'
import { adminAddress } from '../config/sources.ts'
import { say, translateText } from '../language/sentence.ts'
import { type Command, failWith, readArguments } from './command.ts'

const WITHIN_MS = 3000

export const health: Command = async (argv, io) => {
  const { values } = readArguments(argv, { ready: { type: 'boolean' } })
  const answer = await requestHealth(`${adminAddress(io)}/${values.ready === true ? 'readyz' : 'healthz'}`)
  if (answer === null) return 0
  return failWith(io, say('not well: {answer}', { answer: translateText(answer) }))
}

/** Asks a health URL. @returns null when it answers 200, else the reason. */
export function requestHealth(url: string): Promise<string | null> {
  return new Promise(resolve => {
    const fail = (error: Error) => resolve(`${url}: ${error.message || error.name}`)
    const request = get(url, { timeout: WITHIN_MS, agent: false }, response => {
      let body = ''
      response.setEncoding('utf8').on('data', (text: string) => {
        body = (body + text).slice(0, 300)
      })
      // An answer that is cut off has an error, and no end.
      response
        .on('error', fail)
        .on('end', () => resolve(response.statusCode === 200 ? null : `HTTP ${response.statusCode} ${body}`))
    })
    request.on('timeout', () => request.destroy(new Error(`no answer within ${WITHIN_MS / 1000} s`)))
    request.on('error', fail)
  })
}
