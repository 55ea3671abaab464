import { isIPv6 } from 'node:net'

/** The part of an address that names the network of one party: so many octets of IPv4, or groups of 16 bits of IPv6. */
export interface NetworkSize {
  readonly octets: 3 | 4
  readonly groups: 3 | 4
}

/**
 * Names the network of an address. An IPv4 address in IPv6 form (`::ffff:192.0.2.1`) counts as IPv4. A text that is no address is
 * a network of its own.
 */
export function networkOf(address: string, { octets, groups }: NetworkSize): string {
  const plain = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
  if (!isIPv6(plain)) return plain.split('.').slice(0, octets).join('.')
  const [head = '', tail] = (plain.split('%', 1)[0] ?? '').toLowerCase().split('::')
  const all = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const rest = tail === '' ? [] : tail.split(':')
    while (all.length + rest.length < 8) all.push('0')
    all.push(...rest)
  }
  return all
    .slice(0, groups)
    .map(group => group.replace(/^0+(?=.)/, ''))
    .join(':')
}
