import { createServiceHealth } from '../../src/admin/service-health.ts'
import type { ServiceView } from '../../src/admin/service-view.ts'

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
      listMessages: async () => [],
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
    webhooks: () => null,
    ...given,
  }
}
