import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hash as hashOnce,
  hkdfSync,
  type KeyObject,
  randomFillSync,
} from 'node:crypto'
import type { Channel, Content } from '../messages/message.ts'

/** The encrypted part of a message: to whom, and what. */
export interface MessagePayload {
  readonly recipient: string
  readonly content: Content
}

/** The first key encrypts; all of them decrypt, so that a secret can be replaced while messages wait. */
export type PayloadKeys = readonly [KeyObject, ...KeyObject[]]

/** Keyed names: equal for equal fields, and meaningless without the secret. 22 characters of base64url (128 bits). */
export interface KeyedHashes {
  /** Names a message and its duplicates. `fields`: everything that two messages must share to be the same, in a fixed order. */
  dedupeKey(fields: readonly string[]): string
  /** Names the group within which a newer code supersedes older ones. */
  groupKey(channel: Channel, recipient: string, kind: string, pluginId: string): string
  /** Names a recipient, so that its messages are found without the store knowing it. */
  recipientHash(channel: Channel, recipient: string): string
  /** Names where messages go; 11 characters (64 bits), since an index has them. */
  destinationHash(...fields: readonly string[]): string
  /** Names a quota's bucket. */
  bucketHash(...fields: readonly string[]): string
}

export interface StoreKeys extends KeyedHashes {
  /** The keys of payloads. A KeyObject shows its bytes to no log and may cross to a thread. */
  readonly payloadKeys: PayloadKeys
}

type Hash = (...fields: readonly string[]) => string

/**
 * Derives all of the store's keys from one secret, each for one purpose (HKDF-SHA256, RFC 5869).
 *
 * @param secret STORE_SECRET, or the bytes made at first start; at least 16 bytes of it should be random.
 * @param previous secrets that what waits may have been encrypted with. Names are made with `secret` alone.
 */
export function createStoreKeys(
  secret: string | Uint8Array,
  previous: readonly (string | Uint8Array)[] = [],
): StoreKeys {
  const derive = (purpose: string, from = secret) => {
    const master = typeof from === 'string' ? Buffer.from(from, 'utf8') : from
    return createSecretKey(Buffer.from(hkdfSync('sha256', master, '', `callback-courier/${purpose}`, 32)))
  }
  const payloadKeys: PayloadKeys = [derive('payload'), ...previous.map(each => derive('payload', each))]
  const hash = (purpose: string, bytes = 16): Hash => {
    const hmac = createHmacSha256(derive(purpose).export())
    // As JSON, since joined with any separator `a|b`,`c` and `a`,`b|c` would be the same.
    return (...fields) =>
      Buffer.from(hmac(JSON.stringify(fields)).slice(0, bytes), 'binary').toString('base64url')
  }
  const dedupe = hash('dedupe')
  return {
    payloadKeys,
    dedupeKey: fields => dedupe(...fields),
    groupKey: hash('group'),
    destinationHash: hash('destination', 8),
    recipientHash: hash('recipient'),
    bucketHash: hash('bucket'),
  }
}

/** The block of SHA-256, bytes. */
const BLOCK = 64

/**
 * Makes HMAC-SHA256 (RFC 2104) with a key no longer than a block, by hashes of one call: an object of `createHmac` for each takes twice as
 * long, and a message has six. What it gives is in latin1 (`binary`), a character a byte.
 */
function createHmacSha256(key: Buffer): (text: string) => string {
  const pad = (byte: number) => Buffer.alloc(BLOCK, byte).map((each, at) => each ^ (key[at] ?? 0))
  const inner = pad(0x36)
  const outer = Buffer.alloc(BLOCK + 32)
  outer.set(pad(0x5c))
  return text => {
    // Not of the pool that others use: the key can be read from it.
    const message = Buffer.alloc(BLOCK + Buffer.byteLength(text))
    message.set(inner)
    message.write(text, BLOCK)
    outer.write(hashOnce('sha256', message, 'binary'), BLOCK, 'binary')
    return hashOnce('sha256', outer, 'binary')
  }
}

const VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * AES-256-GCM (NIST SP 800-38D) with a random 96-bit nonce; the row's id is authenticated too, so that no row can be
 * given another's content. Version byte, nonce, ciphertext, tag.
 */
export function encryptPayload([key]: PayloadKeys, id: string, payload: MessagePayload): Buffer {
  const nonce = drawNonce()
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  cipher.setAAD(Buffer.from(id, 'latin1'))
  const head = cipher.update(JSON.stringify([payload.recipient, payload.content]), 'utf8')
  return Buffer.concat([Buffer.of(VERSION), nonce, head, cipher.final(), cipher.getAuthTag()])
}

/** Randomness for nonces, drawn for many at once: a draw for each takes 10 µs more. Whoever takes one copies it before the next draw. */
const drawn = Buffer.alloc(NONCE_BYTES * 256)
let used = drawn.length

function drawNonce(): Buffer {
  if (used === drawn.length) {
    randomFillSync(drawn)
    used = 0
  }
  used += NONCE_BYTES
  return drawn.subarray(used - NONCE_BYTES, used)
}

/** @returns null: it was changed, encrypted with none of the keys, or belongs to another row. */
export function tryDecrypt(keys: PayloadKeys, id: string, encrypted: unknown): MessagePayload | null {
  for (const key of keys) {
    try {
      return decryptWith(key, id, encrypted as Uint8Array)
    } catch {
      // Another key may read it.
    }
  }
  return null
}

function decryptWith(key: KeyObject, id: string, encrypted: Uint8Array): MessagePayload {
  if (encrypted[0] !== VERSION || encrypted.length < 1 + NONCE_BYTES + TAG_BYTES) {
    throw new Error('an encrypted payload of an unknown form')
  }
  const decipher = createDecipheriv('aes-256-gcm', key, encrypted.subarray(1, 1 + NONCE_BYTES))
  decipher.setAAD(Buffer.from(id, 'latin1'))
  decipher.setAuthTag(encrypted.subarray(encrypted.length - TAG_BYTES))
  const head = decipher.update(encrypted.subarray(1 + NONCE_BYTES, encrypted.length - TAG_BYTES))
  const text = Buffer.concat([head, decipher.final()]).toString('utf8')
  const [recipient, content] = JSON.parse(text) as [string, Content]
  return { recipient, content }
}

const SECRET_CHECK = 'secret-check'
const CHECK_PAYLOAD: MessagePayload = { recipient: '', content: { params: {}, words: 'ours' } }
const CHECK_BYTES = 1 + NONCE_BYTES + JSON.stringify(['', CHECK_PAYLOAD.content]).length + TAG_BYTES

/** The checks that a store keeps, one of each secret that messages may wait under. The first is of the one that it is written with. */
export type SecretChecks = readonly Uint8Array[]

function findCheck(key: KeyObject, stored: SecretChecks): Uint8Array | undefined {
  return stored.find(check => tryDecrypt([key], SECRET_CHECK, check) !== null)
}

/** Says whether messages may wait that none of the keys reads. @param stored none: the store is new. */
export function isSecretMissing(keys: PayloadKeys, stored: SecretChecks): boolean {
  return stored.some(check => tryDecrypt(keys, SECRET_CHECK, check) === null)
}

/** Says whether whoever wrote these checks has never heard of the key that would encrypt from now on. */
export function isSecretNew([first]: PayloadKeys, stored: SecretChecks): boolean {
  return stored.length > 0 && findCheck(first, stored) === undefined
}

/** Makes the checks that a store keeps after a start that can read everything that waits. Another replica may still write with any key. */
export function renewSecretChecks(keys: PayloadKeys, stored: SecretChecks): SecretChecks {
  return keys.map(key => findCheck(key, stored) ?? encryptPayload([key], SECRET_CHECK, CHECK_PAYLOAD))
}

/**
 * Lists the checks that a store keeps.
 * @param current as it is kept, however it may be damaged; undefined: the store is new.
 * @param replaced those of the other secrets one behind the other, all of the same length.
 */
export function splitSecretChecks(
  current: Uint8Array | undefined,
  replaced: Uint8Array = new Uint8Array(),
): SecretChecks {
  if (current === undefined) return []
  const count = Math.floor(replaced.length / CHECK_BYTES)
  const at = (n: number) => replaced.subarray(n * CHECK_BYTES, (n + 1) * CHECK_BYTES)
  return [current, ...Array.from({ length: count }, (_, n) => at(n))]
}
