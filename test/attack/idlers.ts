import http from 'node:http'
import type { Test } from 'tap'
import { openRaw } from '../rigs/raw.ts'

/** How many of the connections that idle are opened at a time. */
const AT_ONCE = 100

/**
 * Asks for /healthz over so many connections of the private listener, keeps them open, and looks who else gets in.
 * @param url of the private listener. @param token opens it.
 */
export async function playIdlers(t: Test, url: string, token: string, count: number): Promise<void> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const operator = await ask(agent, `${url}/metrics`, token)
  t.equal(operator.status, 200)
  let open = 0
  const idle = async () => {
    const raw = await openRaw(url)
    t.teardown(() => raw.socket.destroy())
    raw.socket.once('close', () => (open -= 1))
    raw.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
    await raw.says(/^HTTP\/1\.1 200 /)
    open += 1
  }
  for (let n = 0; n < count; n += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, idle))
  t.ok(open <= 500, `${open} of ${count} are open still`)

  for (let n = 0; n < 3; n += 1) {
    t.equal((await ask(undefined, `${url}/healthz`)).status, 200, 'a probe')
    t.equal(
      (await ask(undefined, `${url}/metrics`, token)).status,
      200,
      'a new connection of who has the token',
    )
  }
  const again = await ask(agent, `${url}/metrics`, token)
  t.same(again, operator, 'a connection that had the token before them')
}

function ask(
  agent: http.Agent | undefined,
  url: string,
  token?: string,
): Promise<{ readonly status: number; readonly port: number | undefined }> {
  const headers = { host: 'localhost', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) }
  return new Promise((resolve, reject) => {
    http
      .get(url, { agent: agent ?? false, headers, timeout: 5000 }, response => {
        const { localPort: port } = response.socket
        response.resume().on('end', () => resolve({ status: response.statusCode ?? 0, port }))
      })
      .on('error', reject)
  })
}
