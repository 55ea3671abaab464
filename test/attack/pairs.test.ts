import t from 'tap'
import { callbackKeys } from '../../src/callback/authenticate.ts'
import { startProcess } from '../rigs/process.ts'
import { openRaw } from '../rigs/raw.ts'
import { CORP_ID, NO_QUOTAS, SMS_TOKEN, smsBody, startSinks } from '../rigs/service.ts'

const { current } = callbackKeys('sms', { corpId: CORP_ID, token: SMS_TOKEN })
const post = (key: string, body: string) =>
  `POST /callback/${CORP_ID}/${key}/sms HTTP/1.1\r\nHost: x\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

t.test('who waited for the answer to a refused request is never hung up on', async t => {
  const sinks = await startSinks(t)
  const { publicUrl: url } = await startProcess(t, { ...sinks.settings, ...NO_QUOTAS })
  let begun = 0
  /** A wrong key, and right after its answer a right one, as a proxy does that shares its connections among its callers. */
  const pairsInTurn = async (last: number) => {
    while (begun < last) {
      begun += 1
      const raw = await openRaw(url)
      raw.socket.setNoDelay(true)
      raw.write(post('0'.repeat(32), '{}'))
      await raw.says(/^HTTP\/1\.1 403 [^]*"err_msg":/)
      raw.write(post(current, JSON.stringify(smsBody({}, { code: String(100_000 + begun) }))))
      await raw.says(/HTTP\/1\.1 200 [^]*"err_code":0/)
      raw.socket.destroy()
    }
  }
  await pairsInTurn(60)
  await Promise.all(Array.from({ length: 20 }, () => pairsInTurn(120)))
  t.equal(begun, 120, 'one at a time, and twenty')
})
