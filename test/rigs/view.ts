import { createServiceHealth } from '../../src/admin/service-health.ts'
import type { ServiceView } from '../../src/admin/service-view.ts'
import type { ChannelStatus } from '../../src/delivery/port.ts'
import type { MessageView } from '../../src/outbox/outbox.ts'

/** A service in which all is well and nothing happens. @param given what is otherwise. */
export function viewOf(given: Partial<ServiceView> = {}): ServiceView {
  return {
    build: { version: '1.2.3', commit: '0123abc' },
    startedAt: 0,
    now: () => 0,
    wall: () => 0,
    isDraining: () => false,
    lacksDescriptors: () => false,
    channels: [],
    health: createServiceHealth(() => 0),
    queries: {
      probeCommit: async () => true,
      findMessage: async () => null,
      readWaiting: async () => [],
      listMessages: async () => ({ messages: [], lookedFrom: null }),
      readEnded: async () => [],
      readSummary: async () => ({
        counts: [],
        ended: [],
        backlog: { email: 0, sms: 0 },
        oldest: { email: null, sms: null },
        bounced: 0,
        leftOut: 0,
        waitingRecipients: { email: 0, sms: 0 },
        bytes: 0,
      }),
    },
    readAsked: async () => [],
    channelStatus: () => [],
    deliveryTimes: () => [],
    storeLoss: () => null,
    certificate: () => null,
    renewalRefused: () => null,
    templateProblems: () => [],
    deviceAlerts: () => null,
    countLeftOut: null,
    bounceMailbox: () => null,
    onlyTo: 0,
    probeFailures: () => [],
    robots: () => [],
    webhooks: () => null,
    ...given,
  }
}

/** A carrier that is well, and has nothing to do. */
export const idleCarrier: ChannelStatus = {
  channel: 'sms',
  provider: 'twilio',
  inFlight: 0,
  waiting: 0,
  awaitingReply: 0,
  limit: 1,
  limitReason: 'start',
  limitWhy: '',
  breaker: 'closed',
  breakerUntil: null,
  fault: null,
  secondIn: [],
  destinations: [],
  partialFaults: [],
}

/** An SMS that was sent within a second, as the store shows it. */
export const sentMessage: MessageView = {
  id: 'a'.repeat(32),
  channel: 'sms',
  kind: 'login-code',
  purpose: 'code',
  maskedRecipient: '+86*******8000',
  state: 'sent',
  answer: null,
  attempts: 1,
  ambiguous: 0,
  arrivedAt: 0,
  expiresAt: 60_000,
  dueAt: null,
  finalAt: 1000,
  providerId: null,
  receipt: null,
  timeline: [],
}
