import fc from 'fast-check'
import metadata from 'libphonenumber-js/max/metadata'
import t from 'tap'
import { NO_QUOTAS, type ServiceRig, smsBody, startRig } from '../rigs/service.ts'

/** Kinds of numbers whose SMS somebody gets paid for, or nobody reads, in the order of the library's metadata. */
const COSTLY = [
  'toll-free',
  'premium',
  'personal',
  'voicemail',
  'company-wide',
  'pager',
  'voip',
  'shared cost',
] as const

type Types = readonly (0 | readonly [pattern: string, lengths?: readonly number[]])[]
interface Plan {
  readonly 0: string
  readonly 11?: Types
}

/** Numbers made from a plan's own patterns for a kind. */
function numbersOf(plan: Plan, kind: number, count: number): string[] {
  const type = plan[11]?.[2 + kind]
  if (type === undefined || type === 0) return []
  const [pattern, lengths] = type
  return fc
    .sample(fc.stringMatching(new RegExp(`^(?:${pattern})$`)), { numRuns: count, seed: 4291001 })
    .filter(number => lengths === undefined || lengths.includes(number.length))
    .map(number => `+${plan[0]}${number}`)
}

const open = {
  SMS_COUNTRIES: '*',
  MAX_RECIPIENTS: '1000',
  ...NO_QUOTAS,
}

async function sendsNothing(rig: ServiceRig, numbers: readonly string[]): Promise<boolean> {
  const answer = await rig.post('sms', smsBody({ to: numbers.join(','), area_code: null }))
  return [4002002, 4002003].includes(answer.errCode ?? 0) && rig.twilio.requests.length === 0
}

t.test('no costly number of any country is sent to, even with every country open', async t => {
  const rig = await startRig(t, open)
  const plans = Object.entries(metadata.countries as unknown as Record<string, Plan>)
  for (const [at, kind] of COSTLY.entries()) {
    const numbers = plans.flatMap(([, plan]) => numbersOf(plan, at, 4))
    t.ok(numbers.length > 20, `${numbers.length} ${kind} numbers`)
    for (let from = 0; from < numbers.length; from += 500)
      t.ok(await sendsNothing(rig, numbers.slice(from, from + 500)), kind)
  }
})

t.test('a number of no country is never sent to: satellites, international premium and the like', async t => {
  const rig = await startRig(t, open)
  const plans = Object.values(metadata.nonGeographic as unknown as Record<string, Plan>)
  const numbers = plans.flatMap(plan =>
    (plan[11] ?? []).flatMap((_type, kind) => numbersOf({ ...plan, 11: plan[11] ?? [] }, kind - 2, 5)),
  )
  t.ok(numbers.length > 50, `${numbers.length} numbers`)
  t.ok(
    numbers.some(number => number.startsWith('+881')),
    'satellite phones, which the library calls mobile',
  )
  t.ok(await sendsNothing(rig, numbers))
})
