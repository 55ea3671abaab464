import type { Mistake } from './place.ts'

/** The mistakes that the tests have to notice; a number is a place in this list, and new ones come last. */
export const mistakes: readonly Mistake[] = [
  {
    text: 'if (unit === 0x5c) at += 1',
    instead: 'if (unit === 0x5c) at += 0',
    tests: ['test/callback/body.test.ts'],
  },
  {
    text: 'if (measureDepth(text) > MAX_DEPTH)',
    instead: 'if (measureDepth(text) >= MAX_DEPTH)',
    tests: ['test/callback/body.test.ts'],
  },
  {
    text: "key === '__proto__' || key === 'constructor' || hasForbiddenKey(each)",
    instead: "key === '__proto__' || hasForbiddenKey(each)",
    tests: ['test/callback/body.test.ts'],
  },
  {
    text: 'if (Array.isArray(value)) return value.some(hasForbiddenKey)',
    instead: 'if (Array.isArray(value)) return false',
    tests: ['test/callback/body.test.ts'],
  },
  {
    text: 'const JSON_TYPE = /^\\s*application\\/json\\s*(?:;|$)/i',
    instead: 'const JSON_TYPE = /^\\s*application\\/json/i',
    tests: ['test/callback/body.test.ts'],
  },
  {
    text: "const utf8 = new TextDecoder('utf-8', { fatal: true })",
    instead: "const utf8 = new TextDecoder('utf-8')",
    tests: ['test/callback/body.test.ts'],
  },
  {
    text: 'const knowsKey = matches.includes(true)',
    instead: 'const knowsKey = !matches.includes(false)',
    tests: ['test/callback/authenticate.test.ts'],
  },
  {
    text: 'outdated: matches[0] !== true',
    instead: 'outdated: matches[0] === true',
    tests: ['test/callback/authenticate.test.ts'],
  },
  {
    text: 'if (!sources.isAllowed(socketAddress, forwardedFor))',
    instead: 'if (sources.isAllowed(socketAddress, forwardedFor) === undefined)',
    tests: ['test/callback/authenticate.test.ts'],
  },
  {
    text: "if (postSignature === 'observe') statistics.count(channel, stale ? 'stale' : check)",
    instead: "if (postSignature === 'observe') statistics.count(channel, check)",
    tests: ['test/callback/authenticate.test.ts'],
  },
  {
    text: 'else if (stale)',
    instead: 'else if (!stale)',
    tests: ['test/callback/authenticate.test.ts'],
  },
  {
    text: 'const stale = timestamp !== undefined && !isFresh(timestamp, wall(), signatureMaxAgeSeconds)',
    instead: 'const stale = timestamp === undefined || !isFresh(timestamp, wall(), signatureMaxAgeSeconds)',
    tests: ['test/callback/authenticate.test.ts'],
  },
  {
    text: "return check === 'right' ? { ...result, signature: check } : refuseSignature(check)",
    instead: "return check !== 'wrong' ? { ...result, signature: check } : refuseSignature(check)",
    tests: ['test/callback/authenticate.test.ts'],
  },
  { text: 'const same = read.to.toLowerCase()', instead: 'const same = read.to', tests: ['test/callback'] },
  {
    text: "faults.has('recipient') || faults.size === 0 ? 'recipient'",
    instead: "faults.size === 0 ? 'recipient'",
    tests: ['test/callback'],
  },
  {
    text: "faults.has('country') ? 'country' : 'area'",
    instead: "faults.has('area') ? 'area' : 'country'",
    tests: ['test/callback'],
  },
  {
    text: "if (areaCode !== undefined && area === undefined) return 'area'",
    instead: "if (areaCode === undefined && area === undefined) return 'area'",
    tests: ['test/callback/recipient-number.test.ts'],
  },
  {
    text: "if (type !== 'MOBILE' && type !== 'FIXED_LINE_OR_MOBILE') return 'recipient'",
    instead: "if (type !== 'MOBILE') return 'recipient'",
    tests: ['test/callback/recipient-number.test.ts'],
  },
  {
    text: "if (rules.countries !== '*' && !rules.countries.has(country)) return 'country'",
    instead: "if (rules.countries === '*' || !rules.countries.has(country)) return 'country'",
    tests: ['test/callback/recipient-number.test.ts'],
  },
  {
    text: 'const shown = number.slice(-4)',
    instead: 'const shown = number.slice(-6)',
    tests: ['test/callback/recipient-number.test.ts'],
  },
  {
    text: '> MAX_LOCAL || INVISIBLE.test(local)',
    instead: '> MAX_LOCAL || !INVISIBLE.test(local)',
    tests: ['test/callback/recipient-address.test.ts'],
  },
  {
    text: 'DOT_ATOM.test(local) && !ENCODED_WORD.test(local)',
    instead: 'DOT_ATOM.test(local)',
    tests: ['test/callback/recipient-address.test.ts'],
  },
  {
    text: 'if (labels.length < 2 || domain.length > 253) return null',
    instead: 'if (labels.length < 1 || domain.length > 253) return null',
    tests: ['test/callback/recipient-address.test.ts'],
  },
  {
    text: 'return Buffer.byteLength(address) > MAX_ADDRESS ? null : address',
    instead: 'return address',
    tests: ['test/callback/recipient-address.test.ts'],
  },
  {
    text: "if (domain === '' || domainToUnicode(domain) !== lower) return null",
    instead: "if (domain === '') return null",
    tests: ['test/callback/recipient-address.test.ts'],
  },
  {
    text: "...providerOf(['gmail.com', 'googlemail.com'], local => local.replaceAll('.', '')),",
    instead: "...providerOf(['gmail.com', 'googlemail.com'], local => local),",
    tests: ['test/callback'],
  },
  { text: ".replace(/(?<=.)\\+.*$/, '')", instead: ".replace(/\\+$/, '')", tests: ['test/callback'] },
  {
    text: "purpose === 'alarm' ? ['alarm-recipient-hour']",
    instead: "purpose !== 'code' ? ['alarm-recipient-hour']",
    tests: ['test/callback/quotas.test.ts'],
  },
  {
    text: "bucketHash('recipient', channel, channel === 'email' ? mailboxOf(recipient) : recipient, kind)",
    instead: "bucketHash('recipient', channel, recipient, kind)",
    tests: ['test/callback/quotas.test.ts'],
  },
  {
    text: "channel === 'email' ? mailboxOf(recipient) : recipient, kind)",
    instead: "channel === 'email' ? mailboxOf(recipient) : recipient)",
    tests: ['test/callback/quotas.test.ts'],
  },
  {
    text: "charge(['sms-prefix-10m'], () => bucketHash('prefix', recipient.slice(0, -4)))",
    instead: "charge(['sms-prefix-10m'], () => bucketHash('prefix', recipient))",
    tests: ['test/callback/quotas.test.ts'],
  },
  {
    text: 'if (limit > 0) terms.set',
    instead: 'terms.set',
    tests: ['test/callback/quotas.test.ts'],
  },
  {
    text: 'return reached.has(recipientHash) ? charges.filter(({ newcomersOnly }) => !newcomersOnly) : charges',
    instead: 'return charges',
    tests: ['test/outbox/sqlite.test.ts'],
  },
  {
    text: 'if (overdue > 0) return { answer',
    instead: 'if (overdue > 1) return { answer',
    tests: ['test/callback'],
  },
  {
    text: 'for (const { lease, message } of acceptances) if (lease !== undefined) delivery.releasePlace(message.channel)',
    instead:
      'for (const { lease, message } of acceptances.slice(1)) if (lease !== undefined) delivery.releasePlace(message.channel)',
    tests: ['test/callback'],
  },
  {
    text: "if (lease !== undefined) delivery.releasePlace(channel) if (result.is === 'refused' || result.is === 'bounced')",
    instead: "if (result.is === 'refused' || result.is === 'bounced')",
    tests: ['test/callback'],
  },
  {
    text: 'const known = await verdicts.awaitAll(Math.min(leftMs, mostWaitMs))',
    instead: 'const known = await verdicts.awaitAll(leftMs)',
    tests: ['test/callback'],
  },
  {
    text: 'dedupeKey: keys.dedupeKey([...fields, recipient])',
    instead: 'dedupeKey: keys.dedupeKey(fields)',
    tests: ['test/callback'],
  },
  {
    text: 'for (const name of Object.keys(params).sort())',
    instead: 'for (const name of Object.keys(params))',
    tests: ['test/callback'],
  },
  {
    text: "if (typeof value === 'string') return value.trim() return typeof value === 'number'",
    instead: "if (typeof value === 'string') return value return typeof value === 'number'",
    tests: ['test/callback'],
  },
  {
    text: 'if (open.pop() !== mark) return false',
    instead: 'if (open.pop() === undefined) return false',
    tests: ['test/messages'],
  },
  {
    text: 'else if (open.length > 0) return false',
    instead: 'else if (open.length > 1) return false',
    tests: ['test/messages'],
  },
  {
    text: 'while (to > from && SPACE_OR_TAB.includes(text.charAt(to - 1))) to -= 1',
    instead: 'while (to > from && SPACE_OR_TAB.includes(text.charAt(to))) to -= 1',
    tests: ['test/callback', 'test/messages'],
  },
  {
    text: "const host = read.hostname.replace(/\\.$/, '') return allowed.length",
    instead: 'const host = read.hostname return allowed.length',
    tests: ['test/messages/links.test.ts'],
  },
  {
    text: 'return below ? host => host.endsWith(`.${name}`) : host => host === name',
    instead: 'return below ? host => host.endsWith(name) : host => host === name',
    tests: ['test/messages/links.test.ts'],
  },
  {
    text: "if (httpsOnly && hasScheme && read.protocol !== 'https:')",
    instead: "if (httpsOnly && !hasScheme && read.protocol !== 'https:')",
    tests: ['test/messages'],
  },
  {
    text: 'const isRestricted = httpsOnly || allowed.length > 0',
    instead: 'const isRestricted = allowed.length > 0',
    tests: ['test/messages'],
  },
  {
    text: 'const [alone, each] = gsm ? [160, 153] : [70, 67]',
    instead: 'const [alone, each] = gsm ? [160, 153] : [70, 70]',
    tests: ['test/messages'],
  },
  { text: 'if (used + size > each) {', instead: 'if (used + size >= each) {', tests: ['test/messages'] },
  {
    text: 'for (const char of EXTENDED) septets.set(char, 2)',
    instead: 'for (const char of EXTENDED) septets.set(char, 1)',
    tests: ['test/messages'],
  },
  {
    text: 'if (links.length > MAX_LINKS) return',
    instead: 'if (links.length < 0) return',
    tests: ['test/messages', 'test/attack/bodies.test.ts'],
  },
  {
    text: 'if (field.text.length > MAX_CODE) return',
    instead: 'if (field.text.length > MAX_VALUE) return',
    tests: ['test/messages'],
  },
  {
    text: 'const exact = Number.isSafeInteger(value) ||',
    instead: 'const exact = Number.isFinite(value) ||',
    tests: ['test/messages'],
  },
  {
    text: 'return Object.hasOwn(object, key) ? Reflect.get(object, key) : undefined',
    instead: 'return Reflect.get(object, key)',
    tests: ['test/messages'],
  },
  {
    text: "words: plain !== undefined && (fault || prefersPlain[channel]) ? 'plain' : 'ours'",
    instead: "words: plain !== undefined && fault ? 'plain' : 'ours'",
    tests: ['test/messages'],
  },
  {
    text: 'if (key === VALIDITY_UNIT[kind.channel]) continue',
    instead: "if (key === 'minute') continue",
    tests: ['test/messages'],
  },
  {
    text: 'const sender = senderOf(pluginOf(pluginSenders, content)) ?? countrySenders?.get(country)',
    instead: 'const sender = countrySenders?.get(country) ?? senderOf(pluginOf(pluginSenders, content))',
    tests: ['test/words/render.test.ts'],
  },
  {
    text: 'scopeOf(words, language, brand, plugin?.signature)',
    instead: 'scopeOf(words, language, brand)',
    tests: ['test/words/render.test.ts'],
  },
  {
    text: 'const tag = content.locale ?? localeByCountry?.get(country) ?? locale',
    instead: 'const tag = localeByCountry?.get(country) ?? content.locale ?? locale',
    tests: ['test/words/render.test.ts'],
  },
  {
    text: "const isPlain = country === 'CN'",
    instead: "const isPlain = country !== 'US'",
    tests: ['test/words'],
  },
  {
    text: 'if (maxSegments !== undefined && countSegments(text).segments > maxSegments) {',
    instead: 'if (maxSegments !== undefined && countSegments(text).segments >= maxSegments) {',
    tests: ['test/words'],
  },
  {
    text: 'if (countSegments(text + line).segments === 1) return text + line',
    instead: 'if (countSegments(text).segments === 1) return text + line',
    tests: ['test/words'],
  },
  {
    text: 'const usual = DURATION_UNITS.indexOf(usualUnit(ms))',
    instead: 'const usual = DURATION_UNITS.indexOf(usualUnit(ms)) - 1',
    tests: ['test/words'],
  },
  {
    text: '{ n: Math.max(1, Math.floor(ms / UNIT_MS[unit])), unit }',
    instead: '{ n: Math.max(1, Math.round(ms / UNIT_MS[unit])), unit }',
    tests: ['test/words'],
  },
  {
    text: 'if (!BARE_ADDRESS.test(mail.to)) throw',
    instead: 'if (BARE_ADDRESS.test(mail.id)) throw',
    tests: ['test/words'],
  },
  {
    text: 'if (/[\\r\\n]/.test(value) || !/@/.test(encoded)) throw',
    instead: 'if (!/@/.test(encoded)) throw',
    tests: ['test/words'],
  },
  {
    text: 'if (contrast(color, ground) >= READABLE) return color',
    instead: 'if (contrast(color, ground) >= 3) return color',
    tests: ['test/words'],
  },
  {
    text: 'const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x)',
    instead: 'const [light, dark] = [luminance(a), luminance(b)]',
    tests: ['test/words'],
  },
  {
    text: 'return /^(localhost|127(\\.\\d{1,3}){3}|::1)$/.test(host)',
    instead: 'return /^(localhost|127(\\.\\d{1,3}){3}|::1)/.test(host)',
    tests: ['test/config'],
  },
  {
    text: 'const loopback = url !== null && /^(localhost|127(\\.\\d+){3}|\\[::1\\])$/.test(url.hostname)',
    instead: 'const loopback = url !== null && /^(localhost|127(\\.\\d+){3}|\\[::1\\])/.test(url.hostname)',
    tests: ['test/config'],
  },
  {
    text: "const value = sources.readFile(path).replace(/\\r?\\n$/, '')",
    instead: "const value = sources.readFile(path).replace(/\\n$/, '')",
    tests: ['test/config'],
  },
  {
    text: "if (value !== undefined && value.trim() !== '') all[name] = value",
    instead: 'if (value !== undefined) all[name] = value',
    tests: ['test/config'],
  },
  {
    text: 'for (const [name, value] of [...Object.entries(dotenv), ...Object.entries(sources.env)]) {',
    instead: 'for (const [name, value] of [...Object.entries(sources.env), ...Object.entries(dotenv)]) {',
    tests: ['test/config'],
  },
  {
    text: 'if (given[name] === undefined && fallback !== undefined) given[name] = fallback',
    instead: 'if (fallback !== undefined) given[name] = fallback',
    tests: ['test/config'],
  },
  {
    text: 'if (routes.has(country)) return { fault',
    instead: "if (routes.has('')) return { fault",
    tests: ['test/config'],
  },
  {
    text: "return routes.get(country) ?? routes.get('*')",
    instead: "return routes.get('*') ?? routes.get(country)",
    tests: ['test/config', 'test/delivery'],
  },
  {
    text: 'if (new Set(carriers).size < carriers.length)',
    instead: 'if (new Set(carriers).size < 0)',
    tests: ['test/config'],
  },
  {
    text: 'if (value === null || !isCountryCode(country)) return { fault }',
    instead: 'if (value === null && !isCountryCode(country)) return { fault }',
    tests: ['test/config'],
  },
  {
    text: 'if (address === null || /\\p{Cc}/u.test(name))',
    instead: 'if (address === null)',
    tests: ['test/config'],
  },
  {
    text: 'return faults.filter(fault => !wrong.has(fault.name))',
    instead: 'return faults',
    tests: ['test/config'],
  },
  {
    text: "s.DATABASE_URL?.kind === 'postgres' && 'it is needed with postgres",
    instead: "s.DATABASE_URL?.kind === 'file' && 'it is needed with postgres",
    tests: ['test/config'],
  },
  {
    text: "if (url === null || url.search !== '' || url.hash !== '' || url.username !== '')",
    instead: "if (url === null || url.hash !== '' || url.username !== '')",
    tests: ['test/config'],
  },
  {
    text: "return now - oldestDueAt < BACKLOG_MS ? 'oldest-first' : 'newest-first'",
    instead: "return now - oldestDueAt < BACKLOG_MS ? 'newest-first' : 'oldest-first'",
    tests: ['test/outbox/sqlite.test.ts'],
  },
  {
    text: "if (reported && ambiguous > 0) return endAs('sent')",
    instead: "if (reported) return endAs('sent')",
    tests: ['test/outbox'],
  },
  {
    text: "if (outdated) return endAs('superseded')",
    instead: "if (outdated && ambiguous === 0) return endAs('superseded')",
    tests: ['test/outbox'],
  },
  {
    text: "if (state === 'queued') return expiresAt > now ? 'live' : 'outlived'",
    instead: "if (state === 'queued') return 'live'",
    tests: ['test/outbox'],
  },
  {
    text: "if (state === 'superseded' && expiresAt > now) return 'recent'",
    instead: "if (state === 'superseded') return 'recent'",
    tests: ['test/outbox'],
  },
  {
    text: "if (state === 'expired') return 'past'",
    instead: "if (state === 'expired' && expiresAt > now) return 'past'",
    tests: ['test/outbox'],
  },
  {
    text: "return Math.abs(now - (finalAt ?? now)) <= windowMs ? 'recent' : 'past'",
    instead: "return now - (finalAt ?? now) <= windowMs ? 'recent' : 'past'",
    tests: ['test/outbox'],
  },
  {
    text: 'if (added === 0 || live + added <= maxBacklog) return null',
    instead: 'if (added === 0 || live + added < maxBacklog) return null',
    tests: ['test/outbox'],
  },
  {
    text: "if (older === 'queued') return 'superseded'",
    instead: "if (older === 'queued') return 'outdated'",
    tests: ['test/outbox/sqlite.test.ts'],
  },
  {
    text: "const state = settlement.state === 'unknown' && reported ? 'sent' : settlement.state",
    instead: 'const state = settlement.state',
    tests: ['test/outbox'],
  },
  {
    text: "const REFUNDED: ReadonlySet<State> = new Set<State>(['expired', 'superseded', 'refused'])",
    instead: "const REFUNDED: ReadonlySet<State> = new Set<State>(['expired', 'refused'])",
    tests: ['test/outbox'],
  },
  {
    text: 'const dueAt = now + (asked === undefined ? wait : asked + Math.min(wait, MINUTE))',
    instead: 'const dueAt = now + (asked === undefined ? wait : asked)',
    tests: ['test/delivery'],
  },
  {
    text: "if (scope === 'recipient' && ambiguous === 0 && dueAt >= expiresAt)",
    instead: "if (scope === 'recipient' && dueAt >= expiresAt)",
    tests: ['test/delivery'],
  },
  {
    text: 'const mayRepeat = copies < MAX_COPIES[message.channel] || message.canBeLookedUp',
    instead: 'const mayRepeat = copies <= MAX_COPIES[message.channel] || message.canBeLookedUp',
    tests: ['test/delivery'],
  },
  {
    text: 'const bound = schedule[Math.min(Math.max(attempts, 1), schedule.length) - 1] ?? SECOND',
    instead: 'const bound = schedule[Math.min(attempts, schedule.length)] ?? SECOND',
    tests: ['test/delivery'],
  },
  {
    text: "let redacted = reply.length < CUT_LENGTH ? reply : reply.replace(/\\S+$/, '…')",
    instead: 'let redacted = reply',
    tests: ['test/delivery/redact.test.ts'],
  },
  {
    text: 'for (const whole of wholes.toSorted((one, other) => other.length - one.length))',
    instead: 'for (const whole of wholes.toSorted((one, other) => one.length - other.length))',
    tests: ['test/delivery/redact.test.ts'],
  },
  {
    text: 'for (let from = 0; from < 4; from += 1) {',
    instead: 'for (let from = 0; from < 1; from += 1) {',
    tests: ['test/delivery/redact.test.ts'],
  },
  {
    text: 'return secrets.split(/\\s+/).map(secret =>',
    instead: 'return [secrets].map(secret =>',
    tests: ['test/webhooks'],
  },
  {
    text: "failed = result.is === 'delivered' ? null : batch",
    instead: 'failed = null',
    tests: ['test/webhooks'],
  },
  { text: 'return batch.seqs.length === BATCH', instead: 'return false', tests: ['test/webhooks'] },
  { text: "if (told === 0) return { is: 'delivered' } as const", instead: '', tests: ['test/webhooks'] },
  {
    text: 'formatAsJson(results) : formatAsText(results, language)) return results.some(',
    instead: 'formatAsJson(results) : formatAsText(results, language)) return results.every(',
    tests: ['test/commands/check.test.ts'],
  },
  {
    text: 'if (isTooLarge) endOurSide(socket)',
    instead: 'if (isTooLarge) socket.destroy()',
    tests: ['test/attack/connections.test.ts'],
  },
  {
    text: "return outdated.has(token) ? 'outdated' : undefined",
    instead: 'return undefined',
    tests: ['test/outbox/postgres.test.ts'],
  },
  {
    text: 'if (isCheck === true) return',
    instead: '',
    tests: ['test/admin/service-health.test.ts'],
  },
  {
    text: 'if (knowsKey) health.validation = {',
    instead: 'health.validation = {',
    tests: ['test/admin/service-health.test.ts'],
  },
  {
    text: 'if (answer.err_code === 0) storeFailure = null',
    instead: 'storeFailure = null',
    tests: ['test/admin'],
  },
  {
    text: 'if (wasStopped(event.outcome)) return',
    instead: '',
    tests: ['test/admin/service-health.test.ts'],
  },
  {
    text: 'if ([bounce, dkim].some(each => each !== undefined && isAligned(each, domain, from)))',
    instead: 'if ([bounce, dkim].every(each => each !== undefined && isAligned(each, domain, from)))',
    tests: ['test/commands/check/sender.test.ts'],
  },
  {
    text: 'const SHORTEST_WORD = 4',
    instead: 'const SHORTEST_WORD = 5',
    tests: ['test/delivery/redact.test.ts'],
  },
  {
    text: 'if (memory - held + needs > MOST_MEMORY)',
    instead: 'if (memory + needs > MOST_MEMORY)',
    tests: ['test/callback/admission.test.ts'],
  },
  {
    text: 'if (turns === 0 || known * 2 < came) return false',
    instead: 'if (turns === 0) return false',
    tests: ['test/callback/unauthenticated-connections.test.ts'],
  },
  {
    text: 'options.answerWithinMs - (clock.now() - arrivedAt)',
    instead: 'options.answerWithinMs',
    tests: ['test/callback/receive.test.ts'],
  },
  {
    text: 'trimmed.length > 32 || !NUMBER',
    instead: '!NUMBER',
    tests: ['test/callback/recipient-number.test.ts'],
  },
  {
    text: 'period <= text.length / 2',
    instead: 'period < text.length / 2',
    tests: ['test/config/guessable.test.ts'],
  },
  {
    text: 'const to = Math.min(first + width, ...days.filter(each => each.from > at).map(each => each.from))',
    instead: 'const to = first + width',
    tests: ['test/outbox/postgres-days.test.ts'],
  },
  {
    text: 'return deleted.some(({ rowCount }) => rowCount === PRUNE_STEP)',
    instead: 'return deleted.every(({ rowCount }) => rowCount === PRUNE_STEP)',
    tests: ['test/outbox/postgres-days.test.ts'],
  },
  {
    text: 'SELECT name FROM courier_replicas WHERE NOT has_left AND seen_at >',
    instead: 'SELECT name FROM courier_replicas WHERE seen_at >',
    tests: ['test/upgrade/split.test.ts'],
  },
  {
    text: 'DELETE FROM courier_reports WHERE id IN (SELECT id FROM ended)',
    instead: 'DELETE FROM courier_reports WHERE id IN (SELECT id FROM earlier)',
    tests: ['test/outbox/postgres-days.test.ts'],
  },
  {
    text: 'circuit.until = Math.min(circuit.until, now) circuit.rests = 0',
    instead: 'circuit.until = Math.min(circuit.until, now)',
    tests: ['test/delivery/carrier.test.ts'],
  },
  {
    text: 'kinds.size < SEVERAL_KINDS ? MANY_RECIPIENTS : SEVERAL_RECIPIENTS',
    instead: 'kinds.size > SEVERAL_KINDS ? MANY_RECIPIENTS : SEVERAL_RECIPIENTS',
    tests: ['test/delivery/carrier.test.ts'],
  },
  {
    text: "const isBack = wasDown && found === 'up'",
    instead: "const isBack = found === 'up'",
    tests: ['test/delivery/carrier.test.ts'],
  },
  {
    text: 'reports.filter(each => each.masked !== masked && now - each.at <= KEPT_MS)',
    instead: 'reports.filter(each => now - each.at <= KEPT_MS)',
    tests: ['test/delivery/carrier-reports.test.ts'],
  },
  {
    text: "return kind === 'registration-activation' ? 15 * MINUTE_MS : null",
    instead: "return purpose === 'link' ? 15 * MINUTE_MS : null",
    tests: ['test/outbox/sqlite.test.ts'],
  },
  {
    text: 'if (validity !== looked.validity) looked = { validity, uid: 0 }',
    instead: '',
    tests: ['test/bounces/mailbox.test.ts'],
  },
  {
    text: 'const isTwice = times.length > 1 && last - (times[0] ?? 0) <= DAY_MS',
    instead: 'const isTwice = times.length > 1',
    tests: ['test/outbox/sqlite.test.ts'],
  },
  {
    text: "if (listed !== undefined && (isTaken || listed !== 'ok')) return readMeaning(listed)",
    instead: 'if (listed !== undefined) return readMeaning(listed)',
    tests: ['test/providers/http-gateway/gateway.test.ts'],
  },
  {
    text: "const mayWait = outcome.is !== 'sent' && outcome.is !== 'rejected'",
    instead: "const mayWait = outcome.is !== 'sent'",
    tests: ['test/providers/http-gateway/robots.test.ts'],
  },
  {
    text: 'for (let hop = hops.pop(); hop !== undefined; hop = hops.pop())',
    instead: 'for (let hop = hops.shift(); hop !== undefined; hop = hops.shift())',
    tests: ['test/callback/authenticate.test.ts'],
  },
  {
    text: 'unknownStates.has(state) || unknownStates.size >= MOST_UNKNOWN_STATES',
    instead: 'unknownStates.size >= MOST_UNKNOWN_STATES',
    tests: ['test/callback/receipt-routes.test.ts'],
  },
  {
    text: '/^(on|true|yes|1)$/i.test(tls.trim())',
    instead: '/^on$/.test(tls.trim())',
    tests: ['test/config/removed.test.ts'],
  },
  {
    text: 'new Date(day).setDate(day.getDate() + 1)',
    instead: 'day.getTime() + 86_400_000',
    tests: ['test/commands/find.test.ts'],
  },
  {
    text: 'searchMessages(view, rangeOf(filterOf(query)), CSV_ROWS)',
    instead: 'searchMessages(view, {}, CSV_ROWS)',
    tests: ['test/admin/paging.test.ts'],
  },
  {
    text: 'recipients === undefined && ((scope ===',
    instead: '((scope ===',
    tests: ['test/admin/explain.test.ts'],
  },
  {
    text: 'if (changed.get(provider) === event) changed.delete(provider)',
    instead: 'changed.delete(provider)',
    tests: ['test/webhooks/leader.test.ts'],
  },
  {
    text: 'recovered ? (rule?.recover_time ?? alert.time) : alert.time',
    instead: 'alert.time',
    tests: ['test/devices/occurrence.test.ts'],
  },
  {
    text: "outcome.is === 'limit' || (outcome.is === 'retry' && !wasStopped(outcome))",
    instead: "outcome.is === 'limit' || outcome.is === 'retry'",
    tests: ['test/delivery/retry.test.ts'],
  },
  {
    text: "const untouched = outcomes.every(each => each.is === 'retry' && each.untouched === true)",
    instead: "const untouched = outcomes.some(each => each.is === 'retry' && each.untouched === true)",
    tests: ['test/delivery/retry.test.ts'],
  },
  {
    text: "status === 421 && !begun && !enhanced.startsWith('4.3.')",
    instead: 'status === 421 && !begun',
    tests: ['test/providers/smtp/outcome.test.ts'],
  },
  {
    text: 'String(Math.max(1, Math.floor((expiresAt - arrivedAt) / 60_000)))',
    instead: 'String(Math.max(1, Math.ceil((expiresAt - arrivedAt) / 60_000)))',
    tests: ['test/words/render.test.ts'],
  },
  {
    text: 'host.isSilent ||= inTime === undefined',
    instead: '',
    tests: ['test/runtime/name-lookup.test.ts'],
  },
  {
    text: 'slots[at] = verdict if (!slots.includes(undefined)) filled.resolve()',
    instead: 'slots[at] = verdict\nfilled.resolve()',
    tests: ['test/callback/receive.test.ts'],
  },
  {
    text: "if (outcome.is === 'sent' || outcome.is === 'ambiguous') limits.noteSent(to) lengths",
    instead: "if (outcome.is === 'sent') limits.noteSent(to)\nlengths",
    tests: ['test/providers/tencent/provider.test.ts'],
  },
  {
    text: 'const failing = mailbox?.leads === true ? mailbox.failing : null',
    instead: 'const failing = mailbox?.failing ?? null',
    tests: ['test/admin/service-health.test.ts'],
  },
  {
    text: "causes.sort((a, b) => Number(b.level === 'fail') - Number(a.level === 'fail'))",
    instead: 'causes',
    tests: ['test/admin/service-health.test.ts'],
  },
  {
    text: "['refused', 'expired', 'superseded'] interface",
    instead: "['refused', 'expired']\ninterface",
    tests: ['test/devices/notifier.test.ts'],
  },
  {
    text: "accepted?.is === 'in-progress' && accepted.id === id",
    instead: "accepted?.is === 'in-progress'",
    tests: ['test/devices/notifier.test.ts'],
  },
  {
    text: 'const atOnce = end.logInAgain && !justLoggedIn',
    instead: 'const atOnce = end.logInAgain',
    tests: ['test/devices/ddq-client.test.ts'],
  },
  {
    text: "endWaiting(job, job.ambiguous > 0 ? 'unknown' : 'expired')",
    instead: "endWaiting(job, 'expired')",
    tests: ['test/delivery/attempts.test.ts'],
  },
  {
    text: 'ended.splice(0, ended.length, ...ended.filter(each => each.channel !== channel))',
    instead: 'ended.length = 0',
    tests: ['test/outbox/sqlite.test.ts'],
  },
  {
    text: "if (status === 429 || (status !== 200 && !code.startsWith('isp.'))) return judgeStatus(status)",
    instead: 'if (status !== 200) return judgeStatus(status)',
    tests: ['test/providers/aliyun/provider.test.ts'],
  },
  {
    text: "if (limited !== 'recipient') return msUntilNextTotal(now)",
    instead: "if (limited === 'account') return msUntilNextTotal(now)",
    tests: ['test/providers/tencent/provider.test.ts'],
  },
  {
    text: 'latest = [] rests = 0 trial = false until = null',
    instead: 'rests = 0\ntrial = false\nuntil = null',
    tests: ['test/delivery/breaker.test.ts'],
  },
  {
    text: "login: config.TWILIO_API_KEY ?? { authToken: config.TWILIO_AUTH_TOKEN ?? '' }",
    instead: "login: { authToken: config.TWILIO_AUTH_TOKEN ?? '' }",
    tests: ['test/providers/twilio/module.test.ts'],
  },
  {
    text: '[locale, language, undefined].map(wanted',
    instead: '[language, locale, undefined].map(wanted',
    tests: ['test/providers/sms-template-file.test.ts'],
  },
  {
    text: 'const lost = refused + overQuota + to.invalid',
    instead: 'const lost = refused + overQuota',
    tests: ['test/callback/answers.test.ts'],
  },
  {
    text: 'const isSame = cert === current.cert && key === current.key',
    instead: 'const isSame = cert === current.cert',
    tests: ['test/tls/tls.test.ts'],
  },
  {
    text: 'refreshToken = answer.refreshToken ?? refreshToken',
    instead: 'refreshToken = answer.refreshToken',
    tests: ['test/providers/smtp/oauth2.test.ts'],
  },
  {
    text: 'isPrecompilable: used.every(',
    instead: 'isPrecompilable: used.some(',
    tests: ['test/words/layout-dependence.test.ts'],
  },
  {
    text: "if (unreadable.has('.')) return",
    instead: '',
    tests: ['test/words/overrides.test.ts'],
  },
  {
    text: 'alarmAt: latest(memory?.alarmAt ?? null, at)',
    instead: 'alarmAt: at',
    tests: ['test/devices/suppression.test.ts'],
  },
  {
    text: 'recoveredAt.set(key, Math.max(at, last))',
    instead: 'recoveredAt.set(key, at)',
    tests: ['test/devices/occurrence.test.ts'],
  },
  {
    text: 'if (now !== at) {',
    instead: 'if (at < 0) {',
    tests: ['test/service/log.test.ts'],
  },
  {
    text: 'if (granted && !signal.aborted) term.extend(until) else term.end()',
    instead: 'if (granted && !signal.aborted) term.extend(until)',
    tests: ['test/runtime/leadership.test.ts'],
  },
  {
    text: 'SMS_TOKEN_PREVIOUS: tokens.EMAIL_TOKEN_PREVIOUS',
    instead: 'SMS_TOKEN_PREVIOUS: undefined',
    tests: ['test/bounces/report.test.ts'],
  },
  {
    text: 'if (sent >= MANY_BOUNCES.fewest && bounced >= sent * MANY_BOUNCES.share)',
    instead: 'if (sent >= MANY_BOUNCES.fewest && bounced > 0)',
    tests: ['test/admin/causes.test.ts'],
  },
  {
    text: 'period.lengthMs === DAY ? summary : await readSummaryIfUp(view, now - DAY, DAY)',
    instead: 'summary',
    tests: ['test/admin/overview.test.ts'],
  },
  {
    text: "if (state === 'expired' || state === 'unknown') log.warn(line, state)",
    instead: "if (state === 'expired') log.warn(line, state)",
    tests: ['test/admin/event-log.test.ts'],
  },
  {
    text: 'domain.endsWith(`.${policyDomain}`) || from.endsWith(`.${domain}`)',
    instead: 'domain.endsWith(policyDomain) || from.endsWith(`.${domain}`)',
    tests: ['test/commands/check/sender.test.ts'],
  },
  {
    text: 'return live > 0 ? 1 : 0',
    instead: 'return 0',
    tests: ['test/commands/forget.test.ts'],
  },
  {
    text: 'due[order].all(channel, rank, limit - found.length)',
    instead: 'due[order].all(channel, rank, limit)',
    tests: ['test/outbox/sqlite.test.ts'],
  },
  {
    text: 'rank = 1) AS other',
    instead: 'rank = 0) AS other',
    tests: ['test/outbox/sqlite.test.ts'],
  },
  {
    text: "SELECT seq, id FROM messages WHERE state = 'sending' AND lease_until > 0",
    instead: "SELECT seq, id FROM messages WHERE state = 'sending'",
    tests: ['test/outbox/sqlite.test.ts'],
  },
  {
    text: 'return counter.current + 1 + counter.previous * left >= warnAt',
    instead: 'return counter.current + 1 >= warnAt',
    tests: ['test/outbox/quota.test.ts'],
  },
  {
    text: 'const SQLSTATE = /^(?=.*\\d)[0-9A-Z]{5}$/',
    instead: 'const SQLSTATE = /^[0-9A-Z]{5}$/',
    tests: ['test/outbox/postgres-errors.test.ts'],
  },
]
