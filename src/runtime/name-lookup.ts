import dns, { type LookupAddress } from 'node:dns'
import { readFileSync } from 'node:fs'
import { isIP, type LookupFunction } from 'node:net'
import { networkInterfaces } from 'node:os'
import { callbackify } from 'node:util'
import { withTimeout } from './clock.ts'

/** A look-up that takes longer, ms, is answered with the last addresses; it goes on for those who come later (RFC 8767, 5). */
const PATIENCE_MS = 1_000
/** Addresses that were found longer ago, ms, are not used: the host's may be another's by now (RFC 8767, 5: one to three days). */
const MOST_STALE_MS = 86_400_000
/** The longest that the name servers are asked for a host, ms: less than a connection may take. */
const LONGEST_MS = 4_000
/** One try of a name server, ms; the second one takes twice as long. */
const TRY_MS = 1_000

type Addresses = readonly LookupAddress[]

/** What is known of a host. */
interface Host {
  known?: { readonly addresses: Addresses; readonly at: number }
  /** The look-up under way, which all share who ask for the host. */
  asking?: Promise<Addresses>
  /** The name servers have not answered when they were last asked. */
  isSilent: boolean
}

/**
 * Makes the look-up of host names for `net.connect` and all that is built on it. Node's own takes one of the four threads of the
 * process for as long as the DNS is silent, for each connection: a mail server whose DNS was silent for 40 s stopped all SMS. Here a
 * silent DNS holds up nobody but those who ask for that host, and them only until an address of it was found once.
 *
 * @param askAll finds the addresses of a host; rejects with EAI_AGAIN when nobody answers.
 */
export function createNameLookup(
  askAll: (name: string) => Promise<Addresses> = findAddresses,
  patienceMs = PATIENCE_MS,
): LookupFunction {
  const hosts = new Map<string, Host>()

  async function ask(name: string, host: Host): Promise<Addresses> {
    try {
      const addresses = await askAll(name)
      host.known = { addresses, at: performance.now() }
      host.isSilent = false
      return addresses
    } catch (error) {
      host.isSilent = error instanceof Error && 'code' in error && error.code === 'EAI_AGAIN'
      if (!host.isSilent) delete host.known
      throw error
    } finally {
      delete host.asking
    }
  }

  async function addressesOf(name: string): Promise<Addresses> {
    const host = hosts.get(name) ?? { isSilent: false }
    hosts.set(name, host)
    host.asking ??= ask(name, host)
    const { asking, known } = host
    if (known === undefined || performance.now() - known.at > MOST_STALE_MS) return asking
    const answer = asking.catch(error => {
      if (!host.isSilent) throw error
      return known.addresses
    })
    const inTime = await withTimeout(host.isSilent ? 0 : patienceMs, answer)
    host.isSilent ||= inTime === undefined
    return inTime ?? known.addresses
  }

  const find = callbackify(addressesOf)
  return (name, { all, family }, callback) => {
    const wanted = family === 4 || family === 'IPv4' ? 4 : family === 6 || family === 'IPv6' ? 6 : 0
    find(name, (error, addresses) => {
      if (error !== null) return callback(error, '')
      const fitting = addresses.filter(each => wanted === 0 || each.family === wanted)
      const [first] = fitting
      if (first === undefined) callback(lookupError('ENOTFOUND', `no such address of ${name}`, name), '')
      else if (all) callback(null, fitting)
      else callback(null, first.address, first.family)
    })
  }
}

/** The look-up of every connection that this process opens. */
export const lookUpName = createNameLookup()

/** The name servers that Node has read at the start: they differ from its present ones when the process was told others. */
const serversAtStart = dns.getServers().join()

/** The codes of servers that do not answer: their own silence, and that of those they ask. */
const UNHEARD = ['ETIMEOUT', 'ECANCELLED']
const SILENT = [...UNHEARD, 'ESERVFAIL']

/**
 * Finds a host as the system's look-up does, by the hosts file, and by the name servers and search domains of resolv.conf, but
 * without its thread. Only what answers at once, and does not know the name, is left to the system, which may have other sources
 * (mDNS, a directory).
 */
export async function findAddresses(name: string, readFile = readSystemFile): Promise<Addresses> {
  const readLines = (path: string) => linesOf(path, readFile)
  const listed = addressesListed(readLines('/etc/hosts'), name.toLowerCase())
  if (listed.length > 0) return listed
  // A resolver of its own, which reads resolv.conf: a machine that has moved to another network asks the servers of that.
  const resolver = new dns.promises.Resolver({ timeout: TRY_MS, tries: 2 })
  const told = dns.getServers()
  if (told.join() !== serversAtStart) resolver.setServers(told)
  const limit = setTimeout(() => resolver.cancel(), LONGEST_MS)
  const codes: unknown[] = []
  try {
    for (const candidate of candidatesFor(name, readLines('/etc/resolv.conf'))) {
      const answers = await Promise.allSettled(
        familiesHere().map(each => askServers(resolver, candidate, each)),
      )
      const found = answers.flatMap(each => (each.status === 'fulfilled' ? each.value : []))
      if (found.length > 0) return found
      for (const each of answers) if (each.status === 'rejected') codes.push(each.reason.code)
      // Servers that are silent are so for the next candidate, too; a search domain alone may be out of order.
      if (UNHEARD.some(code => codes.includes(code))) break
    }
  } finally {
    clearTimeout(limit)
  }
  if (SILENT.some(code => codes.includes(code)))
    throw lookupError('EAI_AGAIN', `the DNS does not answer for ${name}`, name)
  return dns.promises.lookup(name, { all: true, hints: dns.ADDRCONFIG })
}

async function askServers(resolver: dns.promises.Resolver, name: string, family: 4 | 6): Promise<Addresses> {
  const addresses = family === 4 ? resolver.resolve4(name) : resolver.resolve6(name)
  return (await addresses).map(address => ({ address, family }))
}

/** Gives the addresses that the hosts file has for a name. `localhost` needs no line there (RFC 6761, 6.3). */
function addressesListed(hosts: readonly string[], name: string): Addresses {
  const entries = hosts.map(line => line.replace(/#.*/, '').trim().split(/\s+/))
  const named = entries.filter(([, ...names]) => names.some(each => each.toLowerCase() === name))
  const addresses = named.flatMap(([address = '']) => (isIP(address) === 0 ? [] : [toAddress(address)]))
  return addresses.length > 0 || name !== 'localhost' ? addresses : ['127.0.0.1', '::1'].map(toAddress)
}

/** Lists the names that are asked for, in resolv.conf's order: in a cluster `postgres` stands for `postgres.default.svc.cluster.local`. */
function candidatesFor(name: string, resolvConf: readonly string[]): readonly string[] {
  if (name.endsWith('.')) return [name]
  const entries = resolvConf.map(line => line.trim().split(/\s+/))
  const domains =
    entries.findLast(([keyword]) => keyword === 'search' || keyword === 'domain')?.slice(1) ?? []
  const options = entries.flatMap(([keyword, ...rest]) => (keyword === 'options' ? rest : []))
  const ndots = Number(options.findLast(each => each.startsWith('ndots:'))?.slice('ndots:'.length) ?? 1)
  const searched = domains.map(domain => `${name}.${domain}`)
  return name.split('.').length > ndots ? [name, ...searched] : [...searched, name]
}

/** Lists the families in which this machine has an address that others can reach: for the rest it needs no answer. */
function familiesHere(): readonly (4 | 6)[] {
  const own = Object.values(networkInterfaces()).flatMap(each => each ?? [])
  const outside = own.filter(each => !each.internal && !each.address.startsWith('fe80:'))
  const has6 = outside.some(each => each.family === 'IPv6')
  const has4 = outside.some(each => each.family === 'IPv4')
  return has6 ? (has4 ? [6, 4] : [6]) : [4]
}

const readSystemFile = (path: string): string => readFileSync(path, 'utf8')

/** The lines of a file of the system; one that cannot be read has none, whatever the reason. */
function linesOf(path: string, readFile: (path: string) => string): readonly string[] {
  try {
    return readFile(path).split('\n')
  } catch {
    return []
  }
}

function toAddress(address: string): LookupAddress {
  return { address, family: isIP(address) }
}

/** An error as that of the system's look-up. */
function lookupError(code: string, message: string, hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code, syscall: 'getaddrinfo', hostname })
}
