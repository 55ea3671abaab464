import { get } from 'node:http'
import { adminAddress } from '../config/sources.ts'
import { say, translateText } from '../language/sentence.ts'
import { type Command, readArguments, writeLine } from './command.ts'

const WITHIN_MS = 3000

const OPTIONS = {
  ready: {
    type: 'boolean',
    about: say('ask whether a callback would be accepted now, not only whether the process answers'),
  },
} as const

export const health: Command = {
  about: [
    say(
      'Asks the private listener (ADMIN_HOST, ADMIN_PORT) of a service on this machine, for a container’s HEALTHCHECK. Exit code 0 when it is well, else 1 with the reason.',
    ),
  ],
  options: OPTIONS,
  async run(argv, io) {
    const { values } = readArguments(argv, OPTIONS)
    const answer = await requestHealth(`${adminAddress(io)}/${values.ready === true ? 'readyz' : 'healthz'}`)
    if (answer === null) return 0
    writeLine(io, 'stderr', say('not well: {answer}', { answer: translateText(answer) }))
    return 1
  },
}

/** Asks a health URL. @returns null when it answers 200, else the reason. */
export function requestHealth(url: string): Promise<string | null> {
  return new Promise(resolve => {
    const request = get(url, { timeout: WITHIN_MS, agent: false }, response => {
      let body = ''
      response.setEncoding('utf8').on('data', (text: string) => {
        body = (body + text).slice(0, 300)
      })
      response.on('end', () =>
        resolve(response.statusCode === 200 ? null : `HTTP ${response.statusCode} ${body}`),
      )
    })
    request.on('timeout', () => request.destroy(new Error(`no answer within ${WITHIN_MS / 1000} s`)))
    request.on('error', error => resolve(`${url}: ${error.message || error.name}`))
  })
}
