import { BlockList, isIP } from 'node:net'

export type SourceNetworks = ReturnType<typeof createSourceNetworks>

/**
 * The networks that may call.
 * @param allowed CIDR blocks or addresses, IPv4 and IPv6; empty: everybody.
 * @param trustedProxies the same, of the proxies whose X-Forwarded-For is believed.
 */
export function createSourceNetworks(allowed: readonly string[], trustedProxies: readonly string[]) {
  const allowList = blockListOf(allowed)
  const proxies = blockListOf(trustedProxies)

  function callerOf(socketAddress: string, forwardedFor: string | undefined): string {
    let caller = withoutV4Prefix(socketAddress)
    if (forwardedFor === undefined || !isInList(proxies, caller)) return caller
    const hops = forwardedFor.split(',')
    for (let hop = hops.pop(); hop !== undefined; hop = hops.pop()) {
      caller = parseHop(hop.trim())
      if (!isInList(proxies, caller)) return caller
    }
    return caller
  }
  return {
    /**
     * The caller's address: the socket's, or, when the socket is a trusted proxy's, the nearest address in
     * X-Forwarded-For that is not a trusted proxy's itself. An entry that a caller writes into that header changes
     * nothing. Empty when a trusted proxy writes an entry that is not an address: then the caller is not known.
     */
    callerOf,
    /** Says whether the caller may call. */
    isAllowed: (socketAddress: string, forwardedFor: string | undefined): boolean =>
      allowed.length === 0 || isInList(allowList, callerOf(socketAddress, forwardedFor)),
  }
}

/** `192.0.2.1:4711`, `[2001:db8::1]:4711` and `[2001:db8::1]`, as some proxies write them; the port is not needed. */
const WITH_PORT = /^(?:(\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}|\[([0-9a-f:.]{2,45})\](?::\d{1,5})?)$/i

/** Reads the address in one entry of X-Forwarded-For; empty when the entry is not an address. */
function parseHop(entry: string): string {
  const [, v4, v6] = WITH_PORT.exec(entry) ?? []
  const address = v4 ?? v6 ?? entry
  const version = isIP(address)
  // A zone (`%eth0`) names an interface of one machine, and means nothing on another.
  if (version === 0 || address.includes('%') || (v6 !== undefined && version !== 6)) return ''
  return withoutV4Prefix(address)
}

function blockListOf(blocks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const block of blocks) {
    const [address = '', bits] = block.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}

function isInList(list: BlockList, address: string): boolean {
  const version = isIP(address)
  return version !== 0 && list.check(address, version === 6 ? 'ipv6' : 'ipv4')
}

/** Turns `::ffff:192.0.2.1`, which is how a dual-stack socket names an IPv4 caller, into 192.0.2.1. */
function withoutV4Prefix(address: string): string {
  return /^::ffff:\d+\.\d+\.\d+\.\d+$/i.test(address) ? address.slice(7) : address
}
