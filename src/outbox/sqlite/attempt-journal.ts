import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { type Lease, StoreUnavailable } from '../outbox.ts'

const BOOT_ID_FILE = '/proc/sys/kernel/random/boot_id'
const ID_BYTES = 32
const SLOT_BYTES = 64
const HEADER_BYTES = 64
const EMPTY_SLOT = Buffer.alloc(SLOT_BYTES)
/** Slots that have room on the disk from the beginning, so that a full disk stops no attempt. */
const FIRST_SLOTS = 1024

export function journalPath(databasePath: string): string {
  return `${databasePath}-attempts`
}

/**
 * Reads which messages were being sent when the last process ended.
 * @param bootId identifies the machine's present run; null when it is not known.
 * @returns their ids, each with the provider that it went to or an empty text; null when that is not known: there is no journal,
 *   or the machine was started again since.
 */
export function readAttemptJournal(
  path: string,
  bootId: string | null = readBootId(),
): ReadonlyMap<string, string> | null {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch {
    return null
  }
  if (bootId === null || !bytes.subarray(0, HEADER_BYTES).equals(headerOf(bootId))) return null
  const begun = new Map<string, string>()
  for (let at = HEADER_BYTES; at + SLOT_BYTES <= bytes.length; at += SLOT_BYTES) {
    const slot = bytes.subarray(at, at + SLOT_BYTES)
    if (slot.equals(EMPTY_SLOT)) continue
    const [id = '', provider = ''] = [slot.subarray(0, ID_BYTES), slot.subarray(ID_BYTES)].map(each =>
      each.toString('latin1').replace(/\0+$/, ''),
    )
    begun.set(id, provider)
  }
  return begun
}

export interface AttemptJournal {
  /**
   * Notes that an attempt begins, or goes on with another provider.
   * @throws StoreUnavailable when that cannot be written: the attempt must not begin.
   */
  begin(id: string, lease: Lease, provider?: string): void
  /** Notes that the end of an attempt is committed. Does nothing when none was begun under this lease: a later one goes on. */
  end(id: string, lease: string): void
  close(): void
}

/**
 * The messages that are being sent just now, in a small file beside the database. It is written before the first byte of
 * a message leaves and never synced: what is written survives the death of the process, and a power cut shows in the
 * machine's boot id. So a message that was merely claimed when the process died is known not to have been sent.
 *
 * The file is a header with the boot id, and slots of one id each, with the provider that its attempt went to where it is
 * given; an empty slot is zeros.
 *
 * Begins an empty journal, once the last one was read. @throws the file system's error.
 */
export function openAttemptJournal(path: string, bootId: string | null = readBootId()): AttemptJournal {
  const file = openSync(path, 'w', 0o600)
  writeSync(file, Buffer.alloc(FIRST_SLOTS * SLOT_BYTES), 0, FIRST_SLOTS * SLOT_BYTES, HEADER_BYTES)
  // The header is written last: a file without it is not trusted.
  writeSync(file, headerOf(bootId ?? ''), 0, HEADER_BYTES, 0)
  /** The slot of each message that is being sent, and its lease. Without a prototype no id means anything else. */
  const begun = Object.create(null) as Record<string, { readonly slot: number; readonly lease: string }>
  const free: number[] = []
  let used = 0
  let closed = false

  return {
    begin(id, { token: lease }, provider = '') {
      const known = begun[id]?.slot
      const slot = known ?? free.pop() ?? used++
      const bytes = Buffer.alloc(SLOT_BYTES)
      bytes.write(id, 'latin1')
      bytes.write(provider, ID_BYTES, 'latin1')
      try {
        writeSync(file, bytes, 0, SLOT_BYTES, HEADER_BYTES + slot * SLOT_BYTES)
      } catch (error) {
        if (known === undefined) free.push(slot)
        throw new StoreUnavailable('the journal of attempts cannot be written', { cause: error })
      }
      begun[id] = { slot, lease }
    },
    end(id, lease) {
      const known = begun[id]
      if (known?.lease !== lease) return
      delete begun[id]
      try {
        writeSync(file, EMPTY_SLOT, 0, SLOT_BYTES, HEADER_BYTES + known.slot * SLOT_BYTES)
        free.push(known.slot)
      } catch {
        // The slot stays in use, and its message counts as begun: it may be sent once more, and is not lost.
      }
    },
    close() {
      if (closed) return
      closed = true
      closeSync(file)
    },
  }
}

function headerOf(bootId: string): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header.write(`attempts 2 ${bootId}`, 'latin1')
  return header
}

/** Reads the kernel's random name for this run of the machine; null where there is none. */
function readBootId(): string | null {
  try {
    return readFileSync(BOOT_ID_FILE, 'latin1').trim() || null
  } catch {
    return null
  }
}
