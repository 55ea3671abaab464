import { createSocket } from 'node:dgram'
import dns from 'node:dns'
import type { Test } from 'tap'

const NOERROR = 0
const SERVFAIL = 2
const NXDOMAIN = 3

/** A DNS server that this process asks until the test ends. It knows addresses of IPv4. */
export async function startDnsServer(t: Test, addresses: Readonly<Record<string, string>>) {
  const rig = {
    /** By name; others do not exist. */
    addresses: new Map(Object.entries(addresses)),
    /** Names that it is silent about. */
    silent: new Set<string>(),
    /** Names that the servers of their domain do not answer for. */
    broken: new Set<string>(),
    /** What it was asked, in order. */
    asked: [] as string[],
  }
  const server = createSocket('udp4')
  server.on('message', (query, { port, address }) => {
    const { name, end } = readName(query)
    rig.asked.push(name)
    if (rig.silent.has(name)) return
    const found = rig.addresses.get(name)
    const status = rig.broken.has(name) ? SERVFAIL : found === undefined ? NXDOMAIN : NOERROR
    const isAddress = query.readUInt16BE(end) === 1
    const answer = status === NOERROR && isAddress && found !== undefined ? [addressRecord(found)] : []
    const head = Buffer.alloc(12)
    query.copy(head, 0, 0, 2)
    head.writeUInt16BE(0x8180 | status, 2)
    head.writeUInt16BE(1, 4)
    head.writeUInt16BE(answer.length, 6)
    server.send(Buffer.concat([head, query.subarray(12, end + 4), ...answer]), port, address)
  })
  await new Promise<void>(resolve => server.bind(0, '127.0.0.1', resolve))
  const before = dns.getServers()
  dns.setServers([`127.0.0.1:${server.address().port}`])
  t.teardown(() => {
    dns.setServers(before)
    server.close()
  })
  return rig
}

/** Reads the name of the question. @returns it, and where its type begins */
function readName(query: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 }
}

/** The name of the question again, type A, class IN, a life of no seconds, four octets. */
function addressRecord(address: string): Buffer {
  return Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)])
}
