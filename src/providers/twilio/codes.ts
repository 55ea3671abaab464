/**
 * THE table of Twilio's error codes (https://www.twilio.com/docs/api/errors) that mean something special here. A code
 * that is not listed is judged by its HTTP status: see verdictOnTwilioError.
 */
export const TWILIO_CODES = {
  /** The words cannot be sent. */
  content: [21602, 21605, 21617, 21618, 21654, 21655, 21656, 21658],
  /** The number cannot be reached, does not exist or wants no messages. */
  recipient: [21211, 21217, 21265, 21266, 21604, 21610, 21614, 21635, 30003, 30004, 30005, 30006],
  /** The account may not send to this country. */
  country: [21408],
  /** The account, its credentials or the sender: the operator has something to mend. */
  ours: [
    10001, 10002, 20003, 20005, 20006, 20008, 20403, 20404, 20410, 21212, 21603, 21606, 21608, 21609, 21612,
    21616, 21657, 21659, 21660, 21661, 21701, 21702, 21703, 21704, 21705,
  ],
  /** Not processed; Twilio asks for time. */
  later: [21619, 20429, 14107, 21611, 30001, 30022, 30023, 30027, 63038, 20503],
  /** Twilio itself does not say whether it was processed. */
  ambiguous: [20500],
} as const satisfies Readonly<Record<string, readonly number[]>>

/** Ours to mend: an unverified number on a trial account, and a number that the sender cannot reach. Others may be fine. */
export const PERHAPS_RECIPIENT: ReadonlySet<number> = new Set([21608, 21612])

export type TwilioVerdict = keyof typeof TWILIO_CODES

const BY_CODE: ReadonlyMap<number, TwilioVerdict> = new Map(
  (Object.keys(TWILIO_CODES) as TwilioVerdict[]).flatMap(verdict =>
    TWILIO_CODES[verdict].map(code => [code, verdict] as const),
  ),
)

/**
 * The meaning of an answer other than 2xx.
 *
 * @param status HTTP status. 429 is never processed and always safe to try again
 *   (https://www.twilio.com/docs/usage/rest-api-best-practices); neither is any other 4xx, nor a redirect, which is
 *   not followed; a 5xx may have been.
 * @param code Twilio's code, if the body had one.
 */
export function verdictOnTwilioError(status: number, code: number | undefined): TwilioVerdict {
  if (status === 429) return 'later'
  const listed = code === undefined ? undefined : BY_CODE.get(code)
  return listed ?? (status >= 500 ? 'ambiguous' : 'ours')
}
