import { randomBytes } from 'node:crypto'
import { type BounceMailbox, createBounceMailbox } from '../bounces/mailbox.ts'
import type { createBounceReader } from '../bounces/source.ts'
import { MAIL_PROVIDER } from '../bounces/source.ts'
import { keepReports } from '../callback/receipt-routes.ts'
import type { Config } from '../config/config.ts'
import type { Emit } from '../events/events.ts'
import type { Outbox } from '../outbox/outbox.ts'
import { openAccessTokens } from '../providers/smtp/module.ts'
import type { Clock } from '../runtime/clock.ts'

/** The mailbox that mails come back to, from the settings. This file is loaded only when BOUNCE_IMAP_URL is set. */
export async function openBounceMailbox(
  config: Config,
  parts: {
    readonly readBounce: ReturnType<typeof createBounceReader>
    readonly outbox: Outbox
    readonly clock: Clock
    readonly random: () => number
    readonly emit: Emit
  },
): Promise<BounceMailbox | null> {
  const { BOUNCE_IMAP_URL: address } = config
  if (address === undefined) return null
  const { readBounce, outbox, clock } = parts
  const { takeLeaderLease } = outbox.memos
  const owner = randomBytes(16).toString('hex')
  const tokens = address.pass === '' ? await openAccessTokens(config, clock) : undefined
  const mailbox = createBounceMailbox(
    {
      ...parts,
      address,
      accessToken:
        tokens &&
        (async () => {
          const got = await tokens.getToken()
          if ('whose' in got) throw new Error(got.reply)
          return got.token
        }),
      async take(message) {
        const options = { outbox, provider: MAIL_PROVIDER, now: clock.now, emit: parts.emit }
        const kept = await keepReports('email', await readBounce(message), options)
        return kept.some(is => is !== 'unknown')
      },
      takeLease: takeLeaderLease && (ttlMs => takeLeaderLease('bounces', owner, ttlMs)),
    },
    clock.now,
  )
  return {
    ...mailbox,
    async stop() {
      await mailbox.stop()
      await tokens?.close()
    },
  }
}
