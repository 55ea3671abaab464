import t from 'tap'
import { quote } from '../../src/language/sentence.ts'
import type { OutgoingSms } from '../../src/messages/message.ts'
import type { Provider } from '../../src/providers/provider.ts'
import { createChannels, renderForRoute } from '../../src/service/channels.ts'
import { enough, load } from '../config/settings.ts'
import { messageOf } from '../words/rendering.ts'

const ROUTES = load({
  ...enough,
  ALIYUN_ACCESS_KEY_ID: 'LTAItest',
  ALIYUN_ACCESS_KEY_SECRET: 'a-secret-of-aliyun',
  SMS_ROUTES: 'CN=aliyun,twilio; DE=twilio',
}).SMS_ROUTES

const provider = (channel: 'email' | 'sms', name: string, more: Partial<Provider> = {}): Provider => ({
  name,
  channel,
  concurrency: 10,
  send: () => Promise.reject(new Error('nothing is sent')),
  verify: () => Promise.reject(new Error('nothing is asked')),
  close: async () => {},
  ...more,
})

function channelsOf(providers: readonly Provider[], routes: typeof ROUTES) {
  const reports = {}
  const channels = createChannels({
    providers,
    routes,
    reports,
    clock: { now: () => 0 },
    random: () => 0,
  } as unknown as Parameters<typeof createChannels>[0])
  return {
    channels,
    seen: channels.map(({ channel, carriers, reports: judge }) => ({
      channel,
      carriers: carriers.map(({ provider: { name } }) => name),
      isJudged: judge === reports,
    })),
    to: (recipient: string) =>
      channels
        .at(-1)
        ?.route(messageOf('sms', 'login-code', {}, { recipient }))
        .map(each => each.provider.name),
  }
}

t.test('each channel has its carriers, and an SMS those of its country’s route', async t => {
  const providers = [provider('sms', 'twilio'), provider('email', 'smtp'), provider('sms', 'aliyun')]
  const all = channelsOf(providers, ROUTES)
  t.same(all.seen, [
    { channel: 'email', carriers: ['smtp'], isJudged: false },
    { channel: 'sms', carriers: ['twilio', 'aliyun'], isJudged: true },
  ])
  t.same(all.to('+8613800138000'), ['aliyun', 'twilio'])
  t.same(all.to('+4915123456789'), ['twilio'])
  t.same(all.to('+447400123456'), [], 'no route leads there')
  const alone = channelsOf([provider('sms', 'twilio')], undefined)
  t.same(alone.seen, [{ channel: 'sms', carriers: ['twilio'], isJudged: false }])
  t.same(alone.to('+447400123456'), ['twilio'])
})

t.test('an SMS is refused at once only when no carrier of its route can put it into words', async t => {
  const unrenderable = () => {
    throw Object.assign(new Error('no words'), { name: 'Unrenderable' })
  }
  const text = (outgoing: unknown) => (outgoing as OutgoingSms).text()
  const speaking = (name: string) => provider('sms', name, { fits: outgoing => (text(outgoing), null) })
  const silent = (name: string) => provider('sms', name, { fits: () => quote('it has no template') })
  const message = messageOf('sms', 'login-code', {}, { recipient: '+8613800138000' })
  const rendered = { ...message, text: unrenderable } as unknown as OutgoingSms
  const country: (string | undefined)[] = []
  const accepts = (...carriers: readonly Provider[]) => {
    const render = renderForRoute(channelsOf(carriers, undefined).channels, (_message, to) => {
      country.push(to)
      return rendered
    })
    try {
      return render(message, 'CN') === rendered
    } catch (error) {
      return (error as Error).message
    }
  }
  t.equal(accepts(speaking('twilio')), 'no words')
  t.equal(accepts(speaking('twilio'), silent('aliyun')), true, 'what only misses a template waits for it')
  t.equal(accepts(silent('aliyun')), true)
  t.equal(accepts(), true, 'SMS is off')
  t.same(country, ['CN', 'CN', 'CN', 'CN'])
  const mail = { channel: 'email' } as never
  t.equal(renderForRoute([], () => mail)(message), mail)
})
