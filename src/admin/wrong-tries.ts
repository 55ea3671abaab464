import { isIPv6 } from 'node:net'

/** How many wrong tries are heard in a window, ms. */
export interface WrongTryLimits {
  readonly windowMs: number
  /** From one address (IPv6: one /64, which is what one subscriber has). */
  readonly perAddress: number
  /** From all addresses together. */
  readonly overall: number
}

/** Ten tries a minute are plenty for a person; a hundred a minute are 53 million a year, against 16 characters. */
export const WRONG_TRIES: WrongTryLimits = { windowMs: 60_000, perAddress: 10, overall: 100 }

/** Counts wrong tries, so that a password cannot be guessed in bulk. */
export interface WrongTries {
  /** ms until this address is heard again; 0: now. */
  waitMs(address: string): number
  wrong(address: string): void
  right(address: string): void
}

/**
 * Counts in fixed windows. Memory is bounded: once `overall` is reached nothing more is counted, so there are never
 * more entries than that. An address that has shown the right password stays heard when strangers have used up
 * `overall`, so that they cannot lock the operator out; a thousand such addresses are remembered.
 *
 * @param now ms; only differences count.
 */
export function createWrongTries(now: () => number, limits: WrongTryLimits = WRONG_TRIES): WrongTries {
  const { windowMs, perAddress, overall } = limits
  const known = new Set<string>()
  let tries = new Map<string, number>()
  let total = 0
  let windowEnds = now() + windowMs

  function turnWindow(): void {
    if (now() < windowEnds) return
    tries = new Map()
    total = 0
    windowEnds = now() + windowMs
  }

  return {
    waitMs(address) {
      turnWindow()
      const network = networkOf(address)
      const used = tries.get(network) ?? 0
      const heard = used < perAddress && (total < overall || known.has(network))
      return heard ? 0 : windowEnds - now()
    },
    wrong(address) {
      turnWindow()
      const network = networkOf(address)
      tries.set(network, (tries.get(network) ?? 0) + 1)
      total += 1
    },
    right(address) {
      const network = networkOf(address)
      if (known.has(network)) return
      if (known.size >= 1000) known.clear()
      known.add(network)
    },
  }
}

/** An IPv4 address as it is; of an IPv6 address its first 64 bits; an IPv4 address in IPv6's clothes is itself. */
function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!isIPv6(address)) return address
  const [head = '', tail] = (address.split('%', 1)[0] ?? '').toLowerCase().split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const rest = tail === '' ? [] : tail.split(':')
    while (groups.length + rest.length < 8) groups.push('0')
    groups.push(...rest)
  }
  return groups
    .slice(0, 4)
    .map(group => group.replace(/^0+(?=.)/, ''))
    .join(':')
}
