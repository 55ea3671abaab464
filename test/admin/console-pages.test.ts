import t from 'tap'
import type { ConsoleOptions } from '../../src/admin/console/page.ts'
import { consoleRoutes } from '../../src/admin/console/routes.ts'
import { createAdminListener } from '../../src/admin/listener.ts'
import type { ServiceView } from '../../src/admin/service-view.ts'
import { quote } from '../../src/language/sentence.ts'
import { type MessageView, StoreUnavailable } from '../../src/outbox/outbox.ts'
import { sentMessage, viewOf } from '../rigs/view.ts'
import { rendererFor } from '../words/rendering.ts'

const NOW = Date.parse('2026-11-21T02:04:00Z')
const ID = 'a'.repeat(32)

/** The console of a service that has this, asked as a browser does. */
async function consoleOf(given: Partial<ServiceView>, more: Partial<ConsoleOptions> = {}) {
  const guard = { host: '127.0.0.1', tokens: new Map(), names: [], now: () => 0 }
  const app = createAdminListener(async () => ({ ready: true, degraded: [] }), guard)
  const options = {
    view: viewOf({ now: () => NOW, ...given }),
    renderer: rendererFor(),
    rotating: [],
    hashOf: () => null,
    ...more,
  } as unknown as ConsoleOptions
  await app.register(consoleRoutes, options)
  t.teardown(() => app.close())
  return async (url: string, body?: string, type = 'application/x-www-form-urlencoded') => {
    const headers = { host: 'localhost', ...(body !== undefined && { 'content-type': type }) }
    const answer = await app.inject({
      method: body === undefined ? 'GET' : 'POST',
      url,
      headers,
      ...(body !== undefined && { payload: body }),
    })
    const [, title = ''] = /<h1>(.*?)<\/h1>/.exec(answer.payload) ?? []
    return { status: answer.statusCode, head: answer.headers, title, text: answer.payload }
  }
}

const row: MessageView = {
  ...sentMessage,
  channel: 'email',
  kind: 'file',
  maskedRecipient: 'a***@example.com',
  state: 'refused',
  answer: 'content',
  attempts: 3,
  ambiguous: 1,
  arrivedAt: NOW - 5000,
  expiresAt: NOW + 60_000,
  finalAt: NOW - 4000,
  receipt: { status: 'undelivered', errorCode: '5.1.1', at: NOW - 1000 },
  timeline: [
    { at: NOW - 4500, tookMs: 250, provider: 'smtp', outcome: 'retry', code: '450', reply: '450 later' },
  ],
}
const plain = (page: string) =>
  page
    .slice(page.indexOf('<main'), page.indexOf('</main>'))
    .replace(/<[^>]*>/g, '|')
    .replace(/[|\s]*\|[|\s]*/g, '|')

t.test('all that is known of a message stands on its page', async t => {
  const showing = async (more: Partial<MessageView>) => {
    const queries = { ...viewOf().queries, findMessage: async () => ({ ...row, ...more }) }
    return plain((await (await consoleOf({ queries }))(`/console/messages/${ID}`)).text)
  }
  t.equal(
    (await showing({})).slice(1),
    [
      'Message|refused|(content) The provider refuses the content for good, and the platform was told.',
      'The reply in the timeline has the reason: reputation, links, SPF or DKIM (“check” looks at them), or a template.',
      'Timeline|When|Provider|Outcome|Code|Reply|Took',
      '2026-11-21 02:03:55 UTC|smtp|retry|450|450 later|250 ms',
      `Recipient|a***@example.com|Kind|E-mail: file|Id|${ID}|Provider’s id|–`,
      'Arrived|2026-11-21 02:03:55 UTC|Valid until|2026-11-21 02:05:00 UTC|Next attempt|–',
      'Ended|2026-11-21 02:03:56 UTC|after 1.0 s',
      'Delivery report|undelivered (error 5.1.1)|2026-11-21 02:03:59 UTC',
      'Attempts|3, 1 of them ambiguous|',
    ].join('|'),
  )
  for (const answer of ['recipient', 'content', 'country', 'limit'] as const)
    t.match(await showing({ answer }), `|refused|(${answer}) The `)
  t.match(
    await showing({ state: 'queued', finalAt: null, dueAt: NOW + 5000, receipt: null, timeline: [] }),
    /Took\|No attempt yet\.\|.*Next attempt\|2026-11-21 02:04:05 UTC\|in 5\.0 s\|Ended\|–\|Delivery report\|none\|/s,
  )
})

t.test('what is not there, cannot be read or fails is said on a page, with its status', async t => {
  let fault: Error | null = null
  const queries = {
    ...viewOf().queries,
    findMessage: async () => {
      if (fault !== null) throw fault
      return null
    },
  }
  const ask = await consoleOf({ queries })
  const [, menu = ''] = /<nav(.*?)<\/nav>/s.exec((await ask('/console/nowhere')).text) ?? []
  t.equal(menu.match(/[^<>]+(?=<\/a>)/g)?.join(), 'Overview,Messages,Today,Words,Test send,URLs')
  t.match(await ask('/'), { status: 302, head: { location: '/console' } })
  const gone = { status: 404, title: 'Not here' }
  t.match(await ask('/console/nowhere'), { ...gone, text: /There is no such page\.<.*href="\/console"/s })
  t.match(await ask(`/console/messages/${ID}`), { ...gone, text: 'may have been pruned' })
  t.match(await ask(`/console/messages/${ID}`, 'do=retry'), { ...gone, text: 'may have been pruned' })
  t.match(await ask('/console/messages', 'recipient=x'), { ...gone, text: 'neither a mail address' })
  t.match(await ask('/console/messages', 'recipient=+'), {
    status: 303,
    head: { location: '/console/messages?' },
  })
  for (const path of ['email/nothing/en', 'sms/file/en', 'fax/file/en', 'email/file/xx'])
    t.match(await ask(`/console/templates/${path}`), { ...gone, text: 'There are no such words' })
  t.match(await ask('/console/templates/sms/login-code/en/mail'), { ...gone, text: 'There is no such mail' })
  t.match(await ask('/console/urls'), { status: 403, text: 'Without a password every user of this machine' })
  const unshown = { title: 'This page cannot be shown' }
  t.match(await ask('/console/send', 'x'.repeat(8193)), {
    status: 413,
    ...unshown,
    text: 'this is too large',
  })
  t.match(await ask('/console/send', '{}', 'application/json'), { status: 415, ...unshown })
  t.match(await ask('/console/send', 'kind=file&kind=x'), { status: 400, title: 'Test send' })
  fault = new StoreUnavailable(quote('why'))
  t.match(await ask(`/console/messages/${ID}`), { status: 503, ...unshown, text: 'why' })
  fault = new TypeError('canary')
  const failed = await ask(`/console/messages/${ID}`)
  t.match(failed, { status: 500, ...unshown, text: 'an unexpected fault' })
  t.notMatch(failed.text, 'canary')
})

t.test('the words’ pages name what is wrong with them', async t => {
  const ask = await consoleOf({ templateProblems: () => [quote('zh-CN.json, line 7: no such kind')] })
  const list = plain((await ask('/console/templates')).text)
  t.match(
    list,
    '|Words|zh-CN.json, line 7: no such kind; the last good one is used.|Each as a reader gets it, with your name and colour, and with invented codes and links.|Mails|registration-activation|ar|en|es|zh-CN|zh-TW|',
  )
  t.match(list, '|SMS|registration-code|ar|')
  const page = await ask('/console/templates/email/file/ar')
  t.equal(page.text.split('aria-current="page"').length, 3, 'one place in the menu, one language')
  t.match(page.text, /email\/file\/ar" aria-current="page"/)
  t.match(page.title, 'file in ar')
  t.match(page.text, '<iframe src="/console/templates/email/file/ar/mail" sandbox=""')
  t.match(await ask('/console/templates/email/file/ar/mail'), {
    head: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox",
    },
  })
  const long = rendererFor({ brand: { name: 'x'.repeat(200) } })
  const sms = await (await consoleOf({}, { renderer: long }))('/console/templates/sms/login-code/en')
  t.match(sms.text, 'billed as 2 segments')
})

t.test('what the pages load has its type', async t => {
  const ask = await consoleOf({})
  for (const [path, type] of [
    ['style.css', 'text/css'],
    ['time.js', 'text/javascript'],
    ['live.js', 'text/javascript'],
    ['copy.js', 'text/javascript'],
  ])
    t.match((await ask(`/console/${path}`)).head, {
      'content-type': `${type}; charset=utf-8`,
      vary: 'accept-language',
    })
})
