import { readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t from 'tap'
import { deriveCallbackKey } from '../../src/callback/authenticate.ts'
import { createCallbacks } from '../faults/callbacks.ts'
import { createDriver } from '../faults/driver.ts'
import { MAILBOX_PASSWORD, noMailServers, startDovecot, startPostfix } from '../rigs/mail-servers.ts'
import { askPostgres, noPostgres, startPostgres } from '../rigs/postgres.ts'
import { startProcess } from '../rigs/process.ts'
import { CORP_ID, EMAIL_TOKEN, NO_QUOTAS, startRig, startSinks, until } from '../rigs/service.ts'
import { startSmtpServer } from '../rigs/smtp-server.ts'
import { FORMS, link } from './forms.ts'

/** What lies in a folder of a Maildir; a name ends with its flags. */
async function mailsIn(maildir: string, folder = ''): Promise<readonly string[]> {
  const found = await Promise.all(
    ['new', 'cur'].map(part => readdir(join(maildir, folder, part)).catch(() => [] as string[])),
  )
  return found.flat()
}

t.test(
  'a mail that the next server refuses comes back through Postfix to a mailbox, and is read there',
  { skip: noMailServers ?? false },
  async t => {
    const dovecot = await startDovecot(t)
    const maildir = dovecot.maildir('bounces')
    const { server: next, port: nextPort } = await startSmtpServer(t)
    next.act = ({ step, line }) => {
      if (step !== 'RCPT') return undefined
      if (line.includes('nobody@'))
        return { is: 'say', reply: '550 5.1.1 <nobody@example.net>: no such user' }
      return line.includes('policy@')
        ? { is: 'say', reply: '550-5.7.26 not authenticated\r\n550 5.7.26 see the help' }
        : undefined
    }
    const postfix = await startPostfix(t, { maildirs: dirname(maildir), nextPort })
    const rig = await startRig(t, {
      SMTP_URL: `smtp://127.0.0.1:${postfix.port}?ignoreTLS=true`,
      MAIL_BOUNCE_TO: 'bounces@courier.example',
      BOUNCE_IMAP_URL: `imap://bounces:${MAILBOX_PASSWORD}@127.0.0.1:${dovecot.port}/INBOX?ignoreTLS=true`,
    })
    await until(() => rig.events().some(({ event }) => event === 'bounce-mailbox'), 'the mailbox is open')

    for (const [n, to] of ['nobody@example.net', 'policy@example.net', 'ann@example.net'].entries())
      t.equal((await rig.post('email', link(to, n))).errCode, 0, to)
    await until(() => next.mails.length === 1, 'one mail arrives')
    const recorded = () =>
      rig.events().filter(({ event, result }) => event === 'receipt' && result === 'recorded')
    await until(() => recorded().length === 2, 'two mails came back')
    t.same(
      recorded()
        .map(({ code }) => String(code))
        .toSorted((a, b) => a.localeCompare(b)),
      ['5.1.1', '5.7.26'],
    )
    await until(async () => (await mailsIn(maildir, '.callback-courier')).length === 2, 'both were moved')
    await until(async () => (await mailsIn(maildir)).length === 0, 'none is left')
    const [moved = ''] = await mailsIn(maildir, '.callback-courier')
    const report = await Promise.any(
      ['new', 'cur'].map(part => readFile(join(maildir, '.callback-courier', part, moved), 'utf8')),
    )
    t.match(report, /Original-Envelope-Id: [0-9a-f]{32}/, 'Postfix was given the envelope id')
    t.match(report, 'text/rfc822-headers')
    t.notMatch(report, 'activate?code', 'the link did not come back')
    t.equal((await rig.post('email', link('nobody@example.net', 3))).errCode, 4002012)
    t.notMatch(await rig.page('/console'), 'did not arrive', 'one refused by policy proves nothing')

    // What is no report of ours stays where it is, unread.
    const [id = ''] =
      /[0-9a-f]{32}/.exec(
        /console\/messages\/[0-9a-f]{32}/.exec(await rig.page('/console/messages'))?.[0] ?? '',
      ) ?? []
    const form = FORMS['gmail']
    const others = {
      // Whoever writes a mail says how long its fields are.
      long: `${`Content-Type: text/plain; x="${'x'.repeat(95_000)}"\n`.repeat(60)}\nx\n`,
      person:
        'From: ann@example.net\nTo: bounces@courier.example\nSubject: Hello\n\nWhere is my code? 550 5.1.1\n',
      strange: form({ id: 'f'.repeat(32), to: 'nobody@example.net', status: '5.1.1' }),
      forged: form({ id, to: 'eve@example.net', status: '5.1.1' }),
      huge:
        `${form({ id: 'e'.repeat(32), to: 'a@b.cc', status: '5.1.1' })}${'x'.repeat(76)}\n`.repeat(2) +
        'y'.repeat(100_000_000),
      broken: 'Content-Type: multipart/report; boundary="b\n\n--b\n',
    }
    for (const [name, mail] of Object.entries(others)) {
      await writeFile(join(maildir, 'new', `1.${name}.host`), mail)
    }
    await rig.restart()
    const counted = async () =>
      /receipts_total\{[^}]*class="recipient"[^}]*result="unknown"[^}]*\} 3\n/.test(
        await rig.page('/metrics'),
      )
    await until(counted, 'the three reports among them were read')
    const left = await mailsIn(maildir)
    t.equal(left.length, 6)
    t.same(
      rig.events().filter(({ event, level }) => event === 'bounce-mailbox' && level !== 30),
      [],
    )
    t.same(
      left.filter(name => /:2,.*S/.test(name)),
      [],
      'none was marked as read',
    )
    t.equal((await mailsIn(maildir, '.callback-courier')).length, 2)
    t.equal((await rig.post('email', link('ann@example.net', 4))).errCode, 0)
    t.notMatch(rig.log.join(''), /nobody@|canary-mailbox-password/)
  },
)

t.test(
  'of two replicas one reads the mailbox: when it is killed the other goes on, none is lost, and each counts once',
  { skip: noMailServers ?? noPostgres },
  async t => {
    const dovecot = await startDovecot(t)
    const maildir = dovecot.maildir('bounces')
    const postgres = await startPostgres(t)
    const databaseUrl = await postgres.url()
    const sinks = await startSinks(t)
    const lines: (readonly Readonly<Record<string, unknown>>[])[] = []
    const start = () => {
      const heard: Readonly<Record<string, unknown>>[] = []
      lines.push(heard)
      return startProcess(
        t,
        {
          ...sinks.settings,
          ...NO_QUOTAS,
          DATABASE_URL: databaseUrl,
          BOUNCE_IMAP_URL: `imap://bounces:${MAILBOX_PASSWORD}@127.0.0.1:${dovecot.port}/INBOX?ignoreTLS=true`,
        },
        { onEvent: line => heard.push(line) },
      )
    }
    const replicas = [await start(), await start()] as const
    const opened = () => lines.map(each => each.some(({ event }) => event === 'bounce-mailbox'))
    await until(() => opened().includes(true), 'the mailbox is open')
    const reader = opened().indexOf(true)

    const url = new URL(replicas[0].publicUrl)
    const key = deriveCallbackKey('email', CORP_ID, EMAIL_TOKEN)
    const driver = createDriver({
      urls: () => ({ email: `${url.origin}/callback/${CORP_ID}/${key}/email`, sms: '' }),
      ca: sinks.ca,
    })
    t.teardown(() => driver.close())
    const callbackOf = createCallbacks()
    const given = Array.from({ length: 60 }, () => callbackOf('email'))
    for (const each of given) await driver.post(each)
    await until(() => sinks.smtp.mails.length === given.length, 'all are sent')
    const reports = sinks.smtp.mails.map(({ data, to }) => {
      const id = /^X-Callback-Courier: ([0-9a-f]{32})\r$/m.exec(String(data))?.[1] ?? ''
      return { id, text: FORMS['postfix']({ id, to: to[0] ?? '', status: '5.1.1' }) }
    })
    const recorded = () =>
      lines
        .flat()
        .flatMap(({ event, result, id }) => (event === 'receipt' && result === 'recorded' ? id : []))
    for (const [n, { text }] of reports.entries()) {
      await writeFile(join(maildir, 'new', `1.${n}.host`), text)
      if (n === 20) await until(() => recorded().length > 0, 'some are read')
      if (n === 20) replicas[reader]?.child.kill('SIGKILL')
    }
    // Its lease would end by itself within half a minute.
    await askPostgres(databaseUrl, 'UPDATE courier_leader_leases SET until = now()')
    await until(async () => (await mailsIn(maildir)).length === 0, 'all are moved')
    t.equal((await mailsIn(maildir, '.callback-courier')).length, given.length)
    await until(() => !opened().includes(false), 'the other one has read, too')
    const other = replicas[1 - reader] as (typeof replicas)[0]
    const page = await (await fetch(`${other.adminUrl}/console`)).text()
    t.match(page, 'Of 60 mails of the last day, 60 came back.')
  },
)
