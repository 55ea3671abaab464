import t from 'tap'
import { createPoster, readSigningKeys, signPayload } from '../../src/webhooks/post.ts'
import { startHttpProxy } from '../rigs/http-proxy.ts'
import { until } from '../rigs/until.ts'
import { type Act, SECRET, startReceiver } from './receiver.ts'

const BODY = '{"type":"events","data":{"events":[]}}'

t.test('what a receiver answers late, slowly or without end holds nobody up', async t => {
  const receiver = await startReceiver(t)
  const url = `http://127.0.0.1:${receiver.port}/hook?as=courier`
  const limits = { connectMs: 2000, answerMs: 2000, bodyMs: 1000 }
  const poster = createPoster(url, { now: Date.now }, undefined, limits)
  t.teardown(() => poster.close())
  let n = 0
  const post = async (act: Act, signal = new AbortController().signal) => {
    receiver.act = act
    const headers = signPayload(readSigningKeys(SECRET), `batch-${(n += 1)}`, Date.now(), BODY)
    return poster.post(headers, BODY, signal)
  }
  const late = await post(() => {})
  t.match(late, { is: 'failed', reason: /^(UND_ERR_HEADERS_TIMEOUT|answer-limit)$/ })

  const endless: Act = response => {
    response.writeHead(200)
    const timer = setInterval(() => response.write('x'), 50)
    response.on('close', () => clearInterval(timer))
  }
  t.match(await post(endless), { is: 'delivered' }, 'its status has come, and the rest is not waited for')
  const flood: Act = response => {
    response.writeHead(200)
    const more = () => void (response.destroyed || response.write('x'.repeat(100_000), more))
    more()
  }
  t.match(await post(flood), { is: 'delivered' })
  t.match(await post(response => void response.writeHead(503, { 'retry-after': '7' }).write('x')), {
    is: 'failed',
    reason: 'http-503',
    retryAfterMs: 7000,
  })
  t.match(await post(response => void response.writeHead(300).end()), { is: 'failed', reason: 'http-300' })

  const stopping = new AbortController()
  const stopped = post(() => {}, stopping.signal)
  await until(() => receiver.posts.length === n, 'it has come')
  stopping.abort()
  t.match(await stopped, { is: 'failed', reason: 'aborted' })
  let asked: unknown
  const take: Act = (response, request) => {
    const { 'content-type': type, 'user-agent': agent } = request.headers
    asked = [request.method, request.url, type, agent]
    response.writeHead(299).end()
  }
  t.match(await post(take), { is: 'delivered' }, 'and it goes on')
  t.same(asked, ['POST', '/hook?as=courier', 'application/json', 'callback-courier'], 'with all of its URL')
  const proxy = await startHttpProxy(t, 403)
  const far = createPoster('https://receiver.example/', { now: Date.now }, proxy)
  const timers = t.capture(globalThis, 'setTimeout', setTimeout)
  t.match(await far.post({}, BODY, new AbortController().signal), { is: 'failed' })
  t.ok(
    timers().some(({ args }) => args[1] === 25_000),
    '5, 15 and 5 s',
  )
  await far.close()
  t.match(proxy.asked, [{ to: 'receiver.example:443' }])
})
