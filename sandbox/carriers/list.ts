import { smtp } from './smtp/stand-in.ts'
import type { StandInModule } from './stand-in.ts'
import { twilio } from './twilio/stand-in.ts'

/** The stand-in of every provider. */
export const standIns: readonly StandInModule[] = [smtp, twilio]
