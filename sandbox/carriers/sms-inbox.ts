import type { CarrierFault } from './api-server.ts'
import type { NamedFaults, ReceivedSms, StandIn } from './stand-in.ts'

const MOST_KEPT = 200

/** The latest SMS that a carrier's stand-in took, and the fault that it was told to show. */
export interface SmsInbox {
  add(sms: ReceivedSms): void
  fault(): CarrierFault | undefined
  /** The stand-in, once its server listens; closing it closes the server. */
  serve(
    server: { listen(): Promise<{ readonly port: number }>; close(): Promise<void> },
    describe: (url: string) => Pick<Extract<StandIn, { channel: 'sms' }>, 'settings' | 'route'>,
  ): Promise<StandIn>
}

/** @param changed is called when something arrived. */
export function createSmsInbox(faults: NamedFaults<CarrierFault>, changed: () => void): SmsInbox {
  let received: readonly ReceivedSms[] = []
  let fault: CarrierFault | null = null
  return {
    add(sms) {
      received = [...received, sms].slice(-MOST_KEPT)
      changed()
    },
    fault: () => fault ?? undefined,
    async serve(server, describe) {
      const { port } = await server.listen()
      const url = `http://127.0.0.1:${port}`
      return {
        channel: 'sms',
        url,
        ...describe(url),
        sms: () => received,
        setFault(name) {
          fault = faults[name]?.fault ?? null
        },
        clear() {
          received = []
        },
        close: () => server.close(),
      }
    },
  }
}
