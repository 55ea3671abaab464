import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { parse } from 'node:querystring'
import { text as readText } from 'node:stream/consumers'
import t from 'tap'
import { createGatewayReceipts } from '../../../src/providers/http-gateway/answers.ts'
import { listen } from '../../rigs/listen.ts'
import { judgementOf } from '../sms.ts'
import { gatewayOf, open, sms } from './rig.ts'

const never = new AbortController().signal
const ID = '0198'.repeat(8)
const NUMBER = '+8613800138000'
const hash = (name: string, text: string): string => createHash(name).update(text).digest('hex')

interface Came {
  readonly url: URL
  readonly headers: http.IncomingHttpHeaders
  /** The fields of a form or of the query, or the JSON. */
  readonly fields: Readonly<Record<string, string>>
}

/** A carrier as its published page describes it. */
interface Published {
  readonly secrets: Readonly<Record<string, string>>
  /** Whether the login or signature of a request is right. */
  readonly isRight: (came: Came) => boolean
  /** What a right request holds. */
  readonly fields: Readonly<Record<string, unknown>>
  readonly taken: readonly [status: number, body: string, providerId: string | undefined]
  /** Codes that it answers, each with what is made of it. */
  readonly refusals: readonly (readonly [status: number, body: string, meaning: object])[]
  /** What it posts, or calls, as the service reads it: the state is put in. */
  readonly report: (state: string) => { readonly body?: unknown; readonly query?: string }
  readonly states: Readonly<Record<string, string>>
  readonly reply?: string
}

const form = (text: string) => parse(text) as Readonly<Record<string, string>>
const sid = '9223372036854775807'

const PUBLISHED: Readonly<Record<string, Published>> = {
  huawei: {
    secrets: { huawei_key: 'app', huawei_secret: 's3', huawei_channel: '88200' },
    isRight({ headers }) {
      const wsse = String(headers['x-wsse'])
      const value = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(wsse)?.[1] ?? ''
      const digest = hash('sha256', `${value('Nonce')}${value('Created')}s3`)
      const isAsked = headers['authorization'] === 'WSSE realm="SDP",profile="UsernameToken",type="Appkey"'
      return isAsked && value('PasswordDigest') === Buffer.from(digest).toString('base64')
    },
    fields: { from: '88200', to: NUMBER, templateId: 'T1', templateParas: '["607182"]', extend: ID },
    taken: [
      200,
      '{"code":"000000","description":"Success","result":[{"smsMsgId":"d6e3_0","status":"000000"}]}',
      'd6e3_0',
    ],
    refusals: [
      [
        200,
        '{"code":"E000510","result":[{"smsMsgId":"x","status":"E200030"}]}',
        { verdict: 'ours', scope: 'template' },
      ],
      [200, '{"code":"E000103","description":"no"}', { verdict: 'ours', scope: 'account' }],
      [200, '{"code":"E000000"}', { verdict: 'ambiguous', scope: 'transport' }],
    ],
    report: status => ({ body: form(`smsMsgId=d6e3_0&total=1&status=${status}&source=2&extend=${ID}`) }),
    states: { DELIVRD: 'delivered', E200018: 'undelivered', ACCEPTD: 'sent', UNKNOWN: 'sent' },
  },
  yunpian: {
    secrets: { yunpian_key: 'k1' },
    isRight: ({ fields }) => fields['apikey'] === 'k1',
    fields: { mobile: NUMBER, text: 'your code is 607182', uid: ID, callback_url: /^https/ },
    taken: [200, `{"code":0,"msg":"ok","count":1,"sid":${sid}}`, sid],
    refusals: [
      [400, '{"http_status_code":400,"code":22,"msg":"x"}', { verdict: 'limit', scope: 'recipient' }],
      [400, '{"http_status_code":400,"code":5,"msg":"x"}', { verdict: 'ours', scope: 'template' }],
      [400, '{"http_status_code":400,"code":-50,"msg":"x"}', { verdict: 'ambiguous', scope: 'transport' }],
    ],
    report: state => ({
      body: { sms_status: encodeURIComponent(`[{"sid":${sid},"uid":"${ID}","report_status":"${state}"}]`) },
    }),
    states: { SUCCESS: 'delivered', FAIL: 'undelivered', UNKNOWN: 'sent' },
    reply: 'SUCCESS',
  },
  chuanglan: {
    secrets: { chuanglan_account: 'N1', chuanglan_password: 'p' },
    isRight: ({ fields }) => fields['account'] === 'N1' && fields['password'] === 'p',
    fields: { phone: '13800138000', msg: 'your code is 607182', report: 'true', uid: ID },
    taken: [200, '{"code":"0","msgId":"17041010383624511","errorMsg":""}', '17041010383624511'],
    refusals: [
      [200, '{"code":"109","msgId":"","errorMsg":"x"}', { verdict: 'ours', scope: 'account' }],
      [200, '{"code":"107","msgId":"","errorMsg":"x"}', { verdict: 'recipient', scope: 'recipient' }],
    ],
    report: status => ({
      body: form(`receiver=&pswd=&msgid=17041010383624511&mobile=13800138000&status=${status}&uid=${ID}`),
    }),
    states: { DELIVRD: 'delivered', 'MK:0001': 'undelivered', UNKNOWN: 'sent' },
    reply: '{"clcode":"000000"}',
  },
  ucloud: {
    secrets: { ucloud_project: 'org-1', ucloud_public_key: 'pub', ucloud_private_key: 'priv' },
    isRight({ fields: { Signature, ...fields } }) {
      const names = Object.keys(fields).sort()
      return Signature === hash('sha1', `${names.map(name => `${name}${fields[name]}`).join('')}priv`)
    },
    fields: { Action: 'SendUSMSMessage', 'PhoneNumbers.0': '13800138000', 'TemplateParams.0': '607182' },
    taken: [
      200,
      '{"RetCode":0,"Action":"SendUSMSMessageResponse","Message":"","SessionNo":"d0-f7"}',
      'd0-f7',
    ],
    refusals: [[200, '{"RetCode":171,"Message":"x"}', { verdict: 'ours', scope: 'account' }]],
    report: state => ({
      body: {
        MsgType: 2,
        Data: [{ SessionNo: 'd0-f7', ReceiptResult: state, ReceiptCode: 'X', UserId: ID }],
      },
    }),
    states: {
      Success: 'delivered',
      Fail: 'undelivered',
      SubmitFail: 'undelivered',
      UNKNOWN: 'sent',
      Unknow: 'sent',
    },
  },
  telnyx: {
    secrets: { telnyx_key: 'KEY1' },
    isRight: ({ headers }) => headers['authorization'] === 'Bearer KEY1',
    fields: { to: NUMBER, text: 'your code is 607182', webhook_url: new RegExp(`\\?id=${ID}$`) },
    taken: [200, '{"data":{"id":"40385f64-5717","record_type":"message"}}', '40385f64-5717'],
    refusals: [
      [422, '{"errors":[{"code":"40310","title":"x"}]}', { verdict: 'recipient', scope: 'recipient' }],
      [401, '{"errors":[{"code":"10009","title":"x"}]}', { verdict: 'ours', scope: 'account' }],
    ],
    report: status => ({
      body: {
        data: {
          event_type: 'message.finalized',
          payload: { id: '40385f64-5717', to: [{ status }], errors: [{ code: '40008' }] },
        },
      },
      query: `id=${ID}`,
    }),
    states: {
      queued: 'sent',
      sending: 'sent',
      sent: 'sent',
      delivered: 'delivered',
      delivery_unconfirmed: 'sent',
      sending_failed: 'undelivered',
      delivery_failed: 'undelivered',
    },
  },
  kannel: {
    secrets: { kannel_user: 'u', kannel_password: 'p&p' },
    isRight: ({ fields }) => fields['username'] === 'u' && fields['password'] === 'p&p',
    fields: { to: NUMBER, text: 'your code is 607182', coding: '0', 'dlr-mask': '31' },
    taken: [202, '0: Accepted for delivery', undefined],
    refusals: [
      [403, 'Authorization failed for sendsms', { verdict: 'ours', scope: 'account' }],
      [503, 'Temporal failure, try again later.', { verdict: 'later', scope: 'account' }],
    ],
    report: state => ({ body: form(`id=${ID}&state=${state}`), query: `id=${ID}&state=${state}` }),
    states: { '1': 'delivered', '2': 'undelivered', '4': 'sent', '8': 'sent', '16': 'undelivered' },
  },
}

for (const [name, published] of Object.entries(PUBLISHED))
  t.test(`docs/gateways/${name}.yaml: its requests, answers and reports are those of its page`, async t => {
    let came: Came | undefined
    let answer: readonly [status: number, body: string, ...unknown[]] = published.taken
    const server = http.createServer(async (request, response) => {
      const body = await readText(request)
      const url = new URL(request.url ?? '', 'http://x')
      const isJson = String(request.headers['content-type']).includes('json')
      const fields = isJson ? JSON.parse(body) : body === '' ? form(url.search.slice(1)) : form(body)
      came = { url, headers: request.headers, fields }
      const [status, text] = published.isRight(came) ? answer : [401, '']
      response.writeHead(status).end(text)
    })
    const port = await listen(t, server)
    const text = readFileSync(join(import.meta.dirname, `../../../docs/gateways/${name}.yaml`), 'utf8')
    const [, host = ''] = /url: "?(https:\/\/[^/]+)/.exec(text) ?? []
    const gateway = gatewayOf(text.replaceAll(host, `http://127.0.0.1:${port}`))
    const templates = {
      templateFor: () => ({ template: 'T1', signature: '示例科技', params: ['607182'] }),
    }
    const provider = open({ ...gateway, check: undefined }, published.secrets, { templates })
    const wrong = open(
      gateway,
      Object.fromEntries(Object.keys(published.secrets).map(each => [each, 'wrong'])),
      { templates },
    )
    t.teardown(async () => Promise.all([provider.close(), wrong.close()]))
    const message = sms({ id: ID, to: NUMBER, country: 'CN', text: () => 'your code is 607182' })

    t.equal(provider.fits?.(message), null)
    t.match(await provider.send(message, never), { is: 'sent', providerId: published.taken[2] })
    t.match(came?.fields, published.fields)
    t.match(judgementOf(await wrong.send(message, never)), { scope: 'account' })
    for (const [status, body, meaning] of published.refusals) {
      answer = [status, body]
      t.same(judgementOf(await provider.send(message, never)), meaning, body)
    }

    if (gateway.reports === undefined) throw new Error('it has no reports')
    const reports = createGatewayReceipts(name, gateway.reports, ['k'])
    t.equal(reports.taken, published.reply)
    const named = Object.keys(gateway.reports.states)
    const played = Object.keys(published.states).map(state => (named.includes(state) ? state : '*'))
    t.same(new Set(played), new Set(named), 'every state of the file is played')
    for (const [state, status] of Object.entries(published.states)) {
      const given = { headers: {}, body: undefined, query: '', ...published.report(state) }
      const expected = { providerId: published.taken[2] ?? ID, id: ID, status }
      t.match(reports.parseReports(given), [expected], state)
    }
  })
