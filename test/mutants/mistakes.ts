import type { Mistake } from './place.ts'

/**
 * The mistakes that the tests have to notice: below the files or folders that are expected to notice it, the exact text, and what
 * stands in its place. A rule that a table of cases holds needs none here.
 */
const NOTICED_BY: Readonly<Record<string, readonly (readonly [text: string, instead: string])[]>> = {
  'test/callback/body.test.ts': [
    ['if (codeUnit === 0x5c) at += 1', 'if (codeUnit === 0x5c) at += 0'],
    [
      "key === '__proto__' || key === 'constructor' || hasForbiddenKey(each)",
      "key === '__proto__' || hasForbiddenKey(each)",
    ],
    ["const utf8 = new TextDecoder('utf-8', { fatal: true })", "const utf8 = new TextDecoder('utf-8')"],
  ],
  'test/callback/authenticate.test.ts': [
    ['const knowsKey = matches.includes(true)', 'const knowsKey = !matches.includes(false)'],
    ['outdated: matches[0] !== true', 'outdated: matches[0] === true'],
    ["const signature = isStale ? 'stale' : check", 'const signature = check'],
    [
      'const isStale = timestamp !== undefined && !isFresh(timestamp, wall(), signatureMaxAgeSeconds)',
      'const isStale = timestamp === undefined || !isFresh(timestamp, wall(), signatureMaxAgeSeconds)',
    ],
    [
      'for (let hop = hops.pop(); hop !== undefined; hop = hops.pop())',
      'for (let hop = hops.shift(); hop !== undefined; hop = hops.shift())',
    ],
  ],
  'test/callback': [
    ['const same = read.to.toLowerCase()', 'const same = read.to'],
    ["faults.has('recipient') || faults.size === 0 ? 'recipient'", "faults.size === 0 ? 'recipient'"],
    [".replace(/(?<=.)\\+.*$/, '')", ".replace(/\\+$/, '')"],
    [
      "if (lease !== undefined) delivery.releasePlace(channel) if (result.is === 'refused' || result.is === 'bounced')",
      "if (result.is === 'refused' || result.is === 'bounced')",
    ],
    [
      'const known = await verdicts.awaitAll(Math.min(leftMs, mostWaitMs))',
      'const known = await verdicts.awaitAll(leftMs)',
    ],
    ['for (const name of Object.keys(params).sort())', 'for (const name of Object.keys(params))'],
  ],
  'test/callback/recipient-number.test.ts': [
    [
      "if (type !== 'MOBILE' && type !== 'FIXED_LINE_OR_MOBILE') return 'recipient'",
      "if (type !== 'MOBILE') return 'recipient'",
    ],
    ['trimmed.length > 32 || !NUMBER', '!NUMBER'],
  ],
  'test/callback/recipient-address.test.ts': [
    [
      'if (!DOT_ATOM.test(local) || ENCODED_WORD.test(local)) return null',
      'if (!DOT_ATOM.test(local)) return null',
    ],
    ["if (domain === '' || domainToUnicode(domain) !== lower) return null", "if (domain === '') return null"],
  ],
  'test/callback/quotas.test.ts': [
    [
      "message.purpose === 'alarm' ? ofRecipient(message, country) : null",
      "message.purpose !== 'code' ? ofRecipient(message, country) : null",
    ],
    [
      "channel === 'email' ? mailboxOf(recipient) : recipient, kind)",
      "channel === 'email' ? mailboxOf(recipient) : recipient)",
    ],
    ['if (limit === 0) return []', ''],
  ],
  'test/outbox/sqlite.test.ts': [
    ['canBeAsked || copies < MOST_COPIES[channel]', 'canBeAsked || copies <= MOST_COPIES[channel]'],
    ["mayGoOn(channel, copies, channel === 'sms')", 'mayGoOn(channel, copies, true)'],
    [
      'return reached.has(recipientHash) ? charges.filter(({ newcomersOnly }) => !newcomersOnly) : charges',
      'return charges',
    ],
    [
      "return kind === 'registration-activation' ? 15 * MINUTE_MS : null",
      "return purpose === 'link' ? 15 * MINUTE_MS : null",
    ],
    [
      'const isTwice = times.length > 1 && last - (times.at(-2) ?? 0) <= DAY_MS',
      'const isTwice = times.length > 1',
    ],
    ['ended.splice(0, ended.length, ...ended.filter(each => each.channel !== channel))', 'ended.length = 0'],
    ['due[order].all(channel, rank, limit - found.length)', 'due[order].all(channel, rank, limit)'],
    ['rank = 1) AS other', 'rank = 0) AS other'],
    [
      "SELECT seq, id FROM messages WHERE state = 'sending' AND lease_until > 0",
      "SELECT seq, id FROM messages WHERE state = 'sending'",
    ],
  ],
  'test/messages': [
    ['else if (open.length > 0) return false', 'else if (open.length > 1) return false'],
    ['const isRestricted = httpsOnly || allowed.length > 0', 'const isRestricted = allowed.length > 0'],
    ['if (used + size > each) {', 'if (used + size >= each) {'],
    [
      'return Object.hasOwn(object, key) ? Reflect.get(object, key) : undefined',
      'return Reflect.get(object, key)',
    ],
    [
      "words: plain !== undefined && (fault || prefersPlain[channel]) ? 'plain' : 'ours'",
      "words: plain !== undefined && fault ? 'plain' : 'ours'",
    ],
    ['if (key === VALIDITY_UNIT[kind.channel]) continue', "if (key === 'minute') continue"],
  ],
  'test/callback test/messages': [
    [
      'while (to > from && SPACE_OR_TAB.includes(text.charAt(to - 1))) to -= 1',
      'while (to > from && SPACE_OR_TAB.includes(text.charAt(to))) to -= 1',
    ],
  ],
  'test/messages/links.test.ts': [
    [
      'return below ? host => host.endsWith(`.${name}`) : host => host === name',
      'return below ? host => host.endsWith(name) : host => host === name',
    ],
  ],
  'test/messages test/attack/bodies.test.ts': [
    ['if (links.length > MAX_LINKS) return', 'if (links.length < 0) return'],
  ],
  'test/words/render.test.ts': [
    [
      'const sender = senderOf(pluginOf(pluginSenders, content)) ?? countrySenders?.get(country)',
      'const sender = countrySenders?.get(country) ?? senderOf(pluginOf(pluginSenders, content))',
    ],
    [
      'String(Math.max(1, Math.floor((expiresAt - arrivedAt) / 60_000)))',
      'String(Math.max(1, Math.ceil((expiresAt - arrivedAt) / 60_000)))',
    ],
  ],
  'test/words': [
    ["const isPlain = country === 'CN'", "const isPlain = country !== 'US'"],
    [
      'if (countSegments(text + line).segments === 1) return text + line',
      'if (countSegments(text).segments === 1) return text + line',
    ],
    ['if (!BARE_ADDRESS.test(mail.to)) throw', 'if (BARE_ADDRESS.test(mail.id)) throw'],
    ['if (/[\\r\\n]/.test(value) || !/@/.test(encoded)) throw', 'if (!/@/.test(encoded)) throw'],
  ],
  'test/config': [
    [
      'const loopback = url !== null && /^(localhost|127(\\.\\d+){3}|\\[::1\\])$/.test(url.hostname)',
      'const loopback = url !== null && /^(localhost|127(\\.\\d+){3}|\\[::1\\])/.test(url.hostname)',
    ],
    [
      'for (const [name, value] of [...Object.entries(dotenv), ...Object.entries(sources.env)]) {',
      'for (const [name, value] of [...Object.entries(sources.env), ...Object.entries(dotenv)]) {',
    ],
    ['if (address === null || /\\p{Cc}/u.test(name))', 'if (address === null)'],
    ['return faults.filter(fault => !wrong.has(fault.name))', 'return faults'],
  ],
  'test/config test/delivery': [
    ["return routes.get(country) ?? routes.get('*')", "return routes.get('*') ?? routes.get(country)"],
  ],
  'test/outbox': [
    ["if (reported && ambiguous > 0) return endAs('sent')", "if (reported) return endAs('sent')"],
    [
      "return Math.abs(now - (finalAt ?? now)) <= windowMs ? 'recent' : 'past'",
      "return now - (finalAt ?? now) <= windowMs ? 'recent' : 'past'",
    ],
    [
      'if (added === 0 || live + added <= maxBacklog) return null',
      'if (added === 0 || live + added < maxBacklog) return null',
    ],
    [
      "const state = settlement.state === 'unknown' && reported ? 'sent' : settlement.state",
      'const state = settlement.state',
    ],
    [
      "const REFUNDED: ReadonlySet<State> = new Set<State>(['expired', 'superseded', 'refused'])",
      "const REFUNDED: ReadonlySet<State> = new Set<State>(['expired', 'refused'])",
    ],
  ],
  'test/delivery': [
    [
      'const dueAt = now + (asked === undefined ? wait : asked + Math.min(wait, MINUTE))',
      'const dueAt = now + (asked === undefined ? wait : asked)',
    ],
    [
      "if (scope === 'recipient' && ambiguous === 0 && dueAt >= expiresAt)",
      "if (scope === 'recipient' && dueAt >= expiresAt)",
    ],
    [
      'const bound = schedule[Math.min(Math.max(attempts, 1), schedule.length) - 1] ?? SECOND',
      'const bound = schedule[Math.min(attempts, schedule.length)] ?? SECOND',
    ],
  ],
  'test/providers/redact.test.ts': [
    [
      'for (const whole of wholes.toSorted((one, other) => other.length - one.length))',
      'for (const whole of wholes.toSorted((one, other) => one.length - other.length))',
    ],
    ['for (let from = 0; from < 4; from += 1) {', 'for (let from = 0; from < 1; from += 1) {'],
  ],
  'test/webhooks': [
    ['return secrets.split(/\\s+/).map(secret =>', 'return [secrets].map(secret =>'],
    ["failed = result.is === 'delivered' ? null : batch", 'failed = null'],
    ['return batch.seqs.length === BATCH', 'return false'],
    ["if (told === 0) return { is: 'delivered' } as const", ''],
  ],
  'test/commands/check.test.ts': [
    [
      'formatAsJson(results) : formatAsText(results, language)) return results.some(',
      'formatAsJson(results) : formatAsText(results, language))\nreturn results.every(',
    ],
    ["running.is === 200 || running.is === 'silent'", 'running.is === 200'],
  ],
  'test/attack/connections.test.ts': [
    ['if (isTooLarge) endOurSide(socket)', 'if (isTooLarge) socket.destroy()'],
  ],
  'test/outbox/postgres.long.test.ts': [["return row.outdated ? 'outdated' : undefined", 'return undefined']],
  'test/admin/service-health.test.ts': [
    ['if (isCheck === true) return', ''],
    ['if (knowsKey) health.validation = {', 'health.validation = {'],
    ['if (wasStopped(event.outcome)) return', ''],
  ],
  'test/admin': [['if (answer.err_code === 0) storeFailure = null', 'storeFailure = null']],
  'test/callback/admission.test.ts': [['used - held + octets > most', 'used + octets > most']],
  'test/config/rules.test.ts': [
    ['!postgres.saysTls && !hosts.every(', '!postgres.saysTls && !hosts.some('],
    ['const isRun = neighbours.length > (text.length - 1) * 0.75', 'const isRun = false'],
    ['periods.some(each => text.startsWith(text.slice(each)))', 'periods.length === 0'],
  ],
  'test/admin/auth.test.ts': [
    ['?? Number.NEGATIVE_INFINITY) < KNOWN_MS', '?? Number.NEGATIVE_INFINITY) <= KNOWN_MS'],
  ],
  'test/callback/unauthenticated-connections.test.ts': [
    ['if (turns === 0 || known * 2 < came) return false', 'if (turns === 0) return false'],
  ],
  'test/callback/receive.test.ts': [
    ['options.answerWithinMs - (clock.now() - arrivedAt)', 'options.answerWithinMs'],
    [
      'slots[at] = verdict if (!slots.includes(undefined)) filled.resolve()',
      'slots[at] = verdict\nfilled.resolve()',
    ],
  ],
  'test/outbox/postgres-days.long.test.ts': [
    [
      'const to = Math.min(first + width, ...days.filter(each => each.from > at).map(each => each.from))',
      'const to = first + width',
    ],
    [
      'return deleted.some(({ rowCount }) => rowCount === PRUNE_STEP)',
      'return deleted.every(({ rowCount }) => rowCount === PRUNE_STEP)',
    ],
    [
      'DELETE FROM courier_reports WHERE id IN (SELECT id FROM ended)',
      'DELETE FROM courier_reports WHERE id IN (SELECT id FROM earlier)',
    ],
  ],
  'test/outbox/schema.long.test.ts': [
    [
      'SELECT name FROM courier_replicas WHERE NOT has_left AND seen_at >',
      'SELECT name FROM courier_replicas WHERE seen_at >',
    ],
  ],
  'test/delivery/carrier.test.ts': [
    ['each.rests = 0 each.until = Math.min(each.until, now)', 'each.until = Math.min(each.until, now)'],
    [
      'kinds.size < SEVERAL_KINDS ? MANY_RECIPIENTS : SEVERAL_RECIPIENTS',
      'kinds.size > SEVERAL_KINDS ? MANY_RECIPIENTS : SEVERAL_RECIPIENTS',
    ],
    ["const isBack = wasDown && found === 'up'", "const isBack = found === 'up'"],
  ],
  'test/delivery/carrier-reports.test.ts': [
    [
      'reports.filter(each => each.masked !== masked && now - each.at <= KEPT_MS)',
      'reports.filter(each => now - each.at <= KEPT_MS)',
    ],
  ],
  'test/bounces/mailbox.test.ts': [
    ['if (looked?.validity !== validity) {', 'if (looked === null) {'],
    ['if (!(error instanceof StoreUnavailable)) {', 'if (error instanceof Error) {'],
    ['if (!isAlone || count < 0 || count === reads)', 'if (!isAlone || count < 0)'],
  ],
  'test/providers/http-gateway/gateway.test.ts': [
    [
      "if (listed !== undefined && (isTaken || listed !== 'ok')) return readMeaning(listed)",
      'if (listed !== undefined) return readMeaning(listed)',
    ],
  ],
  'test/providers/http-gateway/robots.test.ts': [
    [
      "const mayWait = outcome.is !== 'sent' && outcome.is !== 'rejected'",
      "const mayWait = outcome.is !== 'sent'",
    ],
  ],
  'test/callback/receipt-routes.test.ts': [
    [
      'unknownStates.has(state) || unknownStates.size >= MOST_UNKNOWN_STATES',
      'unknownStates.size >= MOST_UNKNOWN_STATES',
    ],
  ],
  'test/commands/find.test.ts': [['new Date(day).setDate(day.getDate() + 1)', 'day.getTime() + 86_400_000']],
  'test/admin/explain.test.ts': [['recipients === undefined && ((scope ===', '((scope ===']],
  'test/webhooks/leader.test.ts': [
    ['if (changed.get(provider) === event) changed.delete(provider)', 'changed.delete(provider)'],
  ],
  'test/devices/occurrence.test.ts': [
    ['recovered ? (rule?.recover_time ?? alert.time) : alert.time', 'alert.time'],
    ['recoveredAt.set(key, Math.max(at, last))', 'recoveredAt.set(key, at)'],
  ],
  'test/delivery/retry.test.ts': [
    [
      "outcome.is === 'limit' || (outcome.is === 'retry' && !wasStopped(outcome))",
      "outcome.is === 'limit' || outcome.is === 'retry'",
    ],
    [
      "const untouched = outcomes.every(each => each.is === 'retry' && each.untouched === true)",
      "const untouched = outcomes.some(each => each.is === 'retry' && each.untouched === true)",
    ],
  ],
  'test/providers/smtp/outcome.test.ts': [
    ["status === 421 && !begun && !enhanced.startsWith('4.3.')", 'status === 421 && !begun'],
  ],
  'test/runtime/name-lookup.test.ts': [['host.isSilent ||= inTime === undefined', '']],
  'test/providers/tencent/provider.test.ts': [
    [
      "limited === 'recipient' ? carrier.windowOf(said, now)",
      "limited !== 'account' ? carrier.windowOf(said, now)",
    ],
  ],
  'test/devices/notifier.test.ts': [
    ["['refused', 'expired', 'superseded'] interface", "['refused', 'expired']\ninterface"],
    ["accepted?.is === 'in-progress' && accepted.id === id", "accepted?.is === 'in-progress'"],
  ],
  'test/devices/ddq-client.test.ts': [
    ['const atOnce = end.logInAgain && !justLoggedIn', 'const atOnce = end.logInAgain'],
  ],
  'test/delivery/attempts.test.ts': [
    ["endWaiting(job, job.ambiguous > 0 ? 'unknown' : 'expired')", "endWaiting(job, 'expired')"],
  ],
  'test/providers/aliyun/provider.test.ts': [
    [
      "if (status === 429 || (status !== 200 && !code.startsWith('isp.'))) return judgeStatus(status)",
      'if (status !== 200) return judgeStatus(status)',
    ],
  ],
  'test/delivery/channel.test.ts': [
    ['clearTimeout(claimTimer) const worthWhileAt', 'const worthWhileAt'],
    ['clearTimeout(timer) remove()', 'remove()'],
  ],
  'test/delivery/attempt.test.ts': [['ends.some(isTimeNamed)', 'ends.every(isTimeNamed)']],
  'test/service/words.test.ts': [
    ['pluginSenders: config.PLUGIN_SENDERS, countrySenders', 'countrySenders'],
    ['replyTo: config.MAIL_REPLY_TO && formatMailbox(config.MAIL_REPLY_TO)', 'replyTo: undefined'],
  ],
  'test/service/sms-templates.test.ts': [
    ['of faults) log.warn({ file: path,', 'of faults.slice(1)) log.warn({ file: path,'],
  ],
  'test/delivery/health.test.ts': [
    ['if (attempt.startedAt < record.restedAt) return false', ''],
    ['record.latest = [] record.fault = null record.rests = 0', 'record.latest = []\nrecord.fault = null'],
  ],
  'test/providers/twilio/module.test.ts': [
    [
      "login: config.TWILIO_API_KEY ?? { authToken: config.TWILIO_AUTH_TOKEN ?? '' }",
      "login: { authToken: config.TWILIO_AUTH_TOKEN ?? '' }",
    ],
  ],
  'test/providers/sms-template-file.test.ts': [
    ['[locale, language, undefined].map(wanted', '[language, locale, undefined].map(wanted'],
  ],
  'test/callback/answers.test.ts': [
    ['const lost = refused + overQuota + to.invalid', 'const lost = refused + overQuota'],
  ],
  'test/tls/tls.test.ts': [
    ['const isSame = cert === current.cert && key === current.key', 'const isSame = cert === current.cert'],
  ],
  'test/providers/smtp/oauth2.test.ts': [
    ['refreshToken = answer.refreshToken ?? refreshToken', 'refreshToken = answer.refreshToken'],
  ],
  'test/words/overrides.test.ts': [
    ["if (unreadable.has('.')) return", ''],
    ['isBuiltIn: used.every(', 'isBuiltIn: used.some('],
  ],
  'test/devices/suppression.test.ts': [['alarmAt: latest(memory?.alarmAt ?? null, at)', 'alarmAt: at']],
  'test/runtime/leadership.test.ts': [
    [
      'if (granted && !signal.aborted) term.extend(until) else term.end()',
      'if (granted && !signal.aborted) term.extend(until)',
    ],
  ],
  'test/bounces/report.test.ts': [
    ['SMS_TOKEN_PREVIOUS: tokens.EMAIL_TOKEN_PREVIOUS', 'SMS_TOKEN_PREVIOUS: undefined'],
  ],
  'test/admin/facts.test.ts': [
    [
      'const failing = mailbox?.leads === true ? mailbox.failing : null',
      'const failing = mailbox?.failing ?? null',
    ],
    ['now - since >= ms)', 'now - since > ms)'],
    ["lines.sort((a, b) => Number(b.level === 'fail') - Number(a.level === 'fail'))", 'lines'],
    [
      'if (sent >= MANY_BOUNCES.fewest && bounced >= sent * MANY_BOUNCES.share)',
      'if (sent >= MANY_BOUNCES.fewest && bounced > 0)',
    ],
  ],
  'test/admin/overview.test.ts': [
    [
      'const [day, hour] = [await readOf(DAY), await readOf(DAY / 24)]',
      'const [day, hour] = [summary, summary]',
    ],
  ],
  'test/admin/event-log.test.ts': [
    [
      "if (state === 'expired' || state === 'unknown') log.warn(line, state)",
      "if (state === 'expired') log.warn(line, state)",
    ],
  ],
  'test/commands/check/sender.test.ts': [
    [
      'domain.endsWith(`.${policyDomain}`) || from.endsWith(`.${domain}`)',
      'domain.endsWith(policyDomain) || from.endsWith(`.${domain}`)',
    ],
  ],
  'test/commands/forget.test.ts': [['return live > 0 ? 1 : 0', 'return 0']],
  'test/outbox/quota.test.ts': [
    [
      'return counter.current + 1 + counter.previous * overlap >= warnAt',
      'return counter.current + 1 >= warnAt',
    ],
  ],
}

/** Its number is a mistake's place in this list. */
export const mistakes: readonly Mistake[] = Object.entries(NOTICED_BY).flatMap(([tests, those]) =>
  those.map(([text, instead]) => ({ text, instead, tests: tests.split(' ') })),
)
