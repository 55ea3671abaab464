import type { CarrierFault, CarrierServer } from '../../sandbox/carriers/api-server.ts'
import { ownHost } from './own-host.ts'

type RequestOf<StandIn> = StandIn extends CarrierServer<infer Request> ? Request : never
type Fault<StandIn> = (request: RequestOf<StandIn>) => CarrierFault | undefined

/** Starts a carrier's stand-in on loopback. `fault` of it: what to do with a request from now on; undefined: behave. */
export async function startStandIn<StandIn extends CarrierServer<unknown>>(
  create: (fault: Fault<StandIn>) => StandIn,
) {
  const rig: { fault: Fault<StandIn> | undefined } = { fault: undefined }
  const standIn = create(request => rig.fault?.(request))
  const host = ownHost()
  const { port } = await standIn.listen(0, host)
  return Object.assign(rig, { standIn, url: `http://${host}:${port}` })
}
