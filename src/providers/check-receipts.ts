import { type CheckResult, checkOk, checkWarning } from '../runtime/check-result.ts'
import type { ChannelSettings } from './module.ts'

/** Says whether a carrier that does not sign can report what becomes of an SMS. @param carrier its name for people. */
export function checkUnsignedReceipts(
  carrier: string,
  { PUBLIC_URL }: Pick<ChannelSettings, 'PUBLIC_URL'>,
): CheckResult {
  if (PUBLIC_URL === undefined)
    return checkWarning(
      'receipts',
      `off: nobody will know whether an SMS by ${carrier} reached its phone`,
      `set PUBLIC_URL, and enter the URL that \`callback-courier urls\` prints in ${carrier}'s console`,
    )
  return checkOk(
    'receipts',
    `${carrier} reports what becomes of each SMS once its console has the URL that \`callback-courier urls\` prints`,
  )
}
