import { createPrivateKey } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { countryOfAreaCode } from '../callback/recipients.ts'
import type { Partly } from '../config/rules.ts'
import { say, tell } from '../language/sentence.ts'
import { judgeUnreadable } from '../runtime/fault.ts'
import type { SettingFault } from '../settings/setting.ts'
import { CertificateUnusable, parseCertificate, readAuthorities } from '../tls/certificate.ts'

type FileSetting = Extract<keyof Partly, `${string}_FILE`>

/** What is wrong with what a file holds, as it goes on behind the name of its setting; null: nothing. */
type Judge = (text: string) => FileFault | null
type FileFault = Omit<SettingFault, 'name'>

/** Files of which each is right or wrong by itself. */
const JUDGES: Readonly<Partial<Record<FileSetting, Judge>>> = {
  DKIM_KEY_FILE: judgeDkimKey,
  SMTP_CLIENT_CERT_FILE: pem =>
    isPair(pem)
      ? null
      : {
          problem:
            'holds no certificate and its key, in PEM and without a passphrase: no mail server would know us by it',
        },
  TLS_CA_FILE: pem =>
    readAuthorities(pem) === null
      ? { problem: 'holds no certificate in PEM, or a damaged one', remedy: 'look at it' }
      : null,
}

/**
 * Tries everything that a setting names, files, folders and the calling code, so that the start says at once what is wrong with all of them.
 * @param s the settings that could be read.
 * @param readFile reads a text file; throws as node:fs does.
 */
export function findFileFaults(s: Partly, readFile: (path: string) => string): readonly SettingFault[] {
  const faults: SettingFault[] = []
  const readNamed = (name: FileSetting): string | undefined => {
    const path = s[name]
    if (path === undefined) return undefined
    try {
      return readFile(path)
    } catch (error) {
      faults.push(unreadable(name, path, error))
      return undefined
    }
  }
  if (s.TLS === true) {
    const cert = readNamed('TLS_CERT_FILE')
    const key = readNamed('TLS_KEY_FILE')
    if (cert !== undefined && key !== undefined) faults.push(...certificateFaults(cert, key))
  }
  for (const [name, judge] of Object.entries(JUDGES) as [FileSetting, Judge][]) {
    const text = readNamed(name)
    const fault = text === undefined ? null : judge(text)
    if (fault !== null) faults.push({ name, ...fault })
  }
  return [...faults, ...folderFaults(s), ...areaFaults(s)]
}

function unreadable(name: string, path: string, error: unknown): SettingFault {
  // Often a private key, pasted where its file is to be named.
  if (path.includes('-----BEGIN'))
    return { name, problem: 'holds PEM, and must name the file that does', remedy: 'write it into a file' }
  const { problem, remedy } = judgeUnreadable(error)
  return { name, problem: say('names {path}, which {problem}', { path, problem: tell(problem) }), remedy }
}

function certificateFaults(cert: string, key: string): SettingFault[] {
  try {
    parseCertificate(cert, key)
    return []
  } catch (error) {
    if (!(error instanceof CertificateUnusable)) throw error
    return [error.fault]
  }
}

function isPair(pem: string): boolean {
  try {
    createSecureContext({ cert: pem, key: pem })
    return true
  } catch {
    return false
  }
}

function judgeDkimKey(pem: string): FileFault | null {
  try {
    if (createPrivateKey(pem).asymmetricKeyType === 'rsa') return null
    return { problem: 'holds no RSA key', remedy: 'receivers check nothing else reliably' }
  } catch {
    // Without the cause: nobody knows what an OpenSSL message quotes.
    const problem = 'holds no private key in PEM without a passphrase'
    return { problem, remedy: 'mails would go out unsigned' }
  }
}

function areaFaults({ DEFAULT_AREA_CODE: area, SMS_TOKEN: token }: Partly): SettingFault[] {
  if (token === undefined || area === undefined || countryOfAreaCode(area) !== null) return []
  const remedy = 'set one such as 86 or 1'
  return [{ name: 'DEFAULT_AREA_CODE', problem: 'is no country calling code', remedy }]
}

function* folderFaults({ TEMPLATES_DIR: templates, DATABASE_URL: store }: Partly): Generator<SettingFault> {
  try {
    if (templates !== undefined) readdirSync(templates)
  } catch (error) {
    yield unreadable('TEMPLATES_DIR', templates ?? '', error)
  }
  if (store?.kind === 'file' && statSync(store.path, { throwIfNoEntry: false })?.isDirectory()) {
    const folder = store.path.replace(/\/+$/, '')
    yield {
      name: 'DATABASE_URL',
      problem: say('names {path}, which is a directory', { path: store.path }),
      remedy: say('name a file in it, such as file:{folder}/outbox.db', { folder }),
    }
  }
}
