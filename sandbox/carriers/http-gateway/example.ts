import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * One of the examples in docs/gateways/, which the sandbox and the tests use as they stand.
 * @param url where its API is instead.
 * @param name what the gateway is called instead.
 */
export function readExample(example: 'vonage' | 'infobip', url: string, name: string = example): string {
  const text = readFileSync(join(import.meta.dirname, '../../../docs/gateways', `${example}.yaml`), 'utf8')
  return text
    .replace(/https:\/\/(?:rest\.nexmo\.com|example\.api\.infobip\.com)/g, url)
    .replace(new RegExp(`^${example}:`, 'm'), `${name}:`)
}
