import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { freePort } from './free-port.ts'

const run = promisify(execFile)
const DOVECOT = '/usr/sbin/dovecot'
const POSTFIX = '/usr/sbin/postfix'

/** Why a real mailbox and a real mail server cannot be started here; undefined: they can. */
export const noMailServers =
  process.getuid?.() !== 0
    ? 'Dovecot and Postfix want to be started by root'
    : [DOVECOT, POSTFIX].every(existsSync)
      ? undefined
      : 'no Dovecot or no Postfix here'

/** Nobody's. */
const UID = 65534
export const MAILBOX_PASSWORD = 'canary-mailbox-password'

/** Starts a Dovecot whose every user has the one password. */
export async function startDovecot(t: Test) {
  const directory = await mkdtemp(join(tmpdir(), 'dovecot-'))
  await chmod(directory, 0o755)
  await mkdir(join(directory, 'mail'))
  await chown(join(directory, 'mail'), UID, UID)
  const port = await freePort()
  await writeFile(
    join(directory, 'dovecot.conf'),
    `protocols = imap
base_dir = ${directory}/run
state_dir = ${directory}/state
log_path = ${directory}/log
ssl = no
disable_plaintext_auth = no
first_valid_uid = 1
mail_location = maildir:${directory}/mail/%u
passdb {
  driver = static
  args = password=${MAILBOX_PASSWORD}
}
userdb {
  driver = static
  args = uid=${UID} gid=${UID} home=${directory}/mail/%u
}
service imap-login {
  inet_listener imap {
    address = 127.0.0.1
    port = ${port}
  }
  inet_listener imaps {
    port = 0
  }
}
service stats {
  client_limit = 100
}
`,
  )
  const child = spawn(DOVECOT, ['-F', '-c', join(directory, 'dovecot.conf')], { stdio: 'ignore' })
  t.teardown(async () => {
    const ended = new Promise(resolve => child.once('exit', resolve))
    child.kill('SIGTERM')
    await ended
    await rm(directory, { recursive: true, force: true })
  })
  await new Promise(resolve => setTimeout(resolve, 500))
  return {
    port,
    /** The Maildir of a user. */
    maildir: (user: string) => join(directory, 'mail', user),
  }
}

/**
 * Starts a Postfix that keeps the mails of `courier.example` in Maildirs, and hands those to any other domain to a server on this
 * machine.
 */
export async function startPostfix(
  t: Test,
  { maildirs, nextPort }: { readonly maildirs: string; readonly nextPort: number },
) {
  const directory = await mkdtemp(join(tmpdir(), 'postfix-'))
  await chmod(directory, 0o755)
  const [config, queue, data] = [`${directory}/config`, `${directory}/queue`, `${directory}/data`]
  for (const each of [config, queue, data]) await mkdir(each)
  await run('chown', ['postfix', data])
  const port = await freePort()
  await writeFile(
    join(config, 'main.cf'),
    `compatibility_level = 3.6
queue_directory = ${queue}
data_directory = ${data}
maillog_file_prefixes = ${directory}
maillog_file = ${directory}/log
myhostname = mail.courier.example
mydestination =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
smtpd_relay_restrictions = permit_mynetworks, reject
smtpd_recipient_restrictions =
relayhost = [127.0.0.1]:${nextPort}
virtual_mailbox_domains = courier.example
virtual_mailbox_base = ${maildirs}
virtual_mailbox_maps = inline:{ { bounces@courier.example = bounces/ } }
virtual_uid_maps = static:${UID}
virtual_gid_maps = static:${UID}
virtual_minimum_uid = 1
alias_maps =
smtp_tls_security_level = none
import_environment = MAIL_CONFIG TZ LANG
`,
  )
  const daemon = (name: string, more = '-') => `${name} unix ${more} - n - - ${name}`
  await writeFile(
    join(config, 'master.cf'),
    [
      `127.0.0.1:${port} inet n - n - - smtpd`,
      'pickup unix n - n 60 1 pickup',
      'cleanup unix n - n - 0 cleanup',
      'qmgr unix n - n 300 1 qmgr',
      'rewrite unix - - n - - trivial-rewrite',
      'bounce unix - - n - 0 bounce',
      'defer unix - - n - 0 bounce',
      'trace unix - - n - 0 bounce',
      'flush unix n - n 1000? 0 flush',
      'smtp unix - - n - - smtp',
      daemon('error'),
      daemon('retry').replace(/retry$/, 'error'),
      daemon('discard'),
      daemon('virtual').replace('- n - -', 'n n - -'),
      daemon('anvil').replace(/- - anvil$/, '- 1 anvil'),
      daemon('scache').replace(/- - scache$/, '- 1 scache'),
      daemon('proxymap'),
      'postlog unix-dgram n - n - 1 postlogd',
      '',
    ].join('\n'),
  )
  const log = () => readFile(join(directory, 'log'), 'utf8').catch(() => '')
  try {
    await run(POSTFIX, ['-c', config, 'start'])
  } catch (error) {
    throw new Error(`Postfix does not start: ${await log()}`, { cause: error })
  }
  t.teardown(async () => {
    await run(POSTFIX, ['-c', config, 'stop'])
    await rm(directory, { recursive: true, force: true })
  })
  return { port, log }
}
