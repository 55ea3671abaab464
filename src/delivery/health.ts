import type { PartialFault, PartialFaultChange } from '../events/events.ts'
import type { Words } from '../language/sentence.ts'
import {
  type Fault,
  faultScopeOf,
  isOperatorFault,
  isProviderDown,
  type Outcome,
  type ScopeNames,
} from '../providers/provider.ts'
import { type HealthRecord, leaveAlone, newHealthRecord, recover } from '../runtime/health-record.ts'

/** The parts of a carrier with a health of their own. What is wider is the carrier's, and what is narrower its message's alone. */
type PartNames = ScopeNames & { readonly domain?: string | undefined }
type Part = keyof PartNames
const PARTS = ['template', 'sender', 'country', 'domain'] as const satisfies readonly Part[]
/** Those that say where a message goes. */
const PLACES = ['country', 'domain'] as const satisfies readonly Part[]
/** So many parts are kept at most: anybody may invent domains. */
const MOST_PARTS = 1000

/** What the end of an attempt has changed, or that it is overdue. */
export interface HealthChange {
  /** The carrier rests now, or does no more. */
  readonly circuit: 'open' | 'closed' | null
  readonly faults: readonly PartialFaultChange[]
}

/** An attempt, as far as the health of a carrier is concerned. */
export interface HealthAttempt {
  readonly kind: string
  /** What it would use; nobody asks as long as nothing fails. */
  readonly names: () => PartNames
  /** Where it goes: a country, or the domain of a mailbox; and whether no attempt was answered there of late. */
  readonly place: string
  readonly isStrange?: boolean
  /** When its provider is asked, ms since the epoch. */
  readonly startedAt: number
  /** Counts the attempts of the carrier. */
  readonly nth: number
}

/** How a carrier is, or a part of it. It is well, rests, or is being tried. Moments are ms since the epoch. */
export interface CarrierRecord extends HealthRecord<PartialFault> {
  readonly scope: 'carrier' | Part
  readonly name: string
  /** Of the latest that began, the oldest first, whether each failed. */
  latest: { readonly nth: number; readonly place: string; failed: boolean }[]
  /** The provider named this part when it refused a message, so that only a message that is taken in it ends the fault. */
  isNamed: boolean
  /** The fault was told. While the whole carrier rests, that one of its parts does is no news. */
  isTold: boolean
  /** When it began to rest last. What began before says nothing of what came after. */
  restedAt: number
  /** Which attempt tries it. */
  triedBy: number | null
  /** The provider was asked in this rest whether it approves. */
  isAsked: boolean
}

/** So many of those that began last count; it rests when so many of them failed, or so many in a row. */
const LATEST = { count: 10, mostFailed: 9, inARow: 5 }
/** How long the others wait while one message tries what rested, ms. */
const TRIAL_WAIT_MS = 1000
/** For so long a place that was answered shows that what fails elsewhere is not the carrier's, ms. */
const ELSEWHERE_MS = 60_000
/** Where the provider can be asked whether it approves, it is asked that often at least while messages wait, ms. */
const LONGEST_LOOK_MS = 15_000
/** It is asked so long before a message would try it, ms. */
const LOOK_AHEAD_MS = 1500

/** The code where no carrier can send a message before the operator has mended something. */
export const NO_CARRIER_FITS = 'no-carrier-fits'
/** Codes of attempts that this service stopped itself. */
const STOPPED: ReadonlySet<string> = new Set(['aborted', 'closed', 'expired'])
/** The outcome of a look-up that finds nothing yet. */
export const NOT_KNOWN_YET = {
  is: 'retry',
  whose: 'later',
  code: 'not-known-yet',
  reply: 'the provider does not know yet what became of it',
} as const satisfies Outcome
/** Codes of outcomes that say nothing of the provider; but for the last one this service caused them itself. */
const NO_EVIDENCE: ReadonlySet<string> = new Set([...STOPPED, 'RENDER', NO_CARRIER_FITS, NOT_KNOWN_YET.code])

const hasCodeOf = (codes: ReadonlySet<string>, outcome: Outcome): boolean =>
  (outcome.is === 'retry' || outcome.is === 'ambiguous') && codes.has(outcome.code)

/** Says whether an attempt was stopped by this side before the provider had its say: the message's life ended, or this process does. */
export const wasStopped = (outcome: Outcome): boolean => hasCodeOf(STOPPED, outcome)

/** Says whether an outcome says nothing of the provider. */
export const saysNothing = (outcome: Outcome): boolean => hasCodeOf(NO_EVIDENCE, outcome)

/** What an attempt comes to that lasts too long. */
export const OVERDUE = {
  is: 'ambiguous',
  code: 'attempt-limit',
  reply: 'the provider did not come back in time',
} as const satisfies Outcome

const UNCHANGED: HealthChange = { circuit: null, faults: [] }

function newRecord(scope: CarrierRecord['scope'], name: string): CarrierRecord {
  const known = { latest: [], isNamed: false, isTold: false, triedBy: null, isAsked: false }
  return { scope, name, ...newHealthRecord(), ...known, restedAt: Number.NEGATIVE_INFINITY }
}

/** Says until when nothing may begin; null: it is well, or may be tried now. */
function restsUntil({ fault, triedBy, until }: CarrierRecord, now: number): number | null {
  if (fault === null) return null
  if (triedBy !== null) return now + TRIAL_WAIT_MS
  return now < until ? until : null
}

/** Notes how an attempt ended, or that it is overdue; what it comes to in the end takes the place of that. */
function note({ latest }: CarrierRecord, { nth, place }: HealthAttempt, failed: boolean): void {
  const before = latest.findLastIndex(each => each.nth <= nth)
  const found = latest[before]
  if (found?.nth === nth) found.failed = failed
  else latest.splice(before + 1, 0, { nth, place, failed })
  if (latest.length > LATEST.count) latest.shift()
}

/** `open`: it rests; `half-open`: one message tries it. */
export type CircuitState = 'closed' | 'open' | 'half-open'

/**
 * Makes the health of a carrier: a record of itself, and one for each part of it that fails. One rule holds for all: what fails
 * rests, and is then tried by one message. It fails when five in a row did, or nine of the latest ten; a part also when the
 * provider names it in a refusal, which meets every message in it and no other. Evidence of its own kind makes it well: a carrier
 * that answers, a part in which a message is taken. What began before a rest does not make it longer. What fails in one place (a
 * country, a domain) while others are answered is that place's, and not the carrier's.
 */
export function createHealth(random: () => number) {
  const whole = newRecord('carrier', '')
  const parts = new Map<string, CarrierRecord>()
  /** The latest attempt that was answered. */
  let latestAnswered = 0
  /** The two places that were answered last, and when, ms since the epoch. */
  let answered: readonly { readonly place: string; readonly at: number }[] = []
  /** Where a value did not fit a template of the operator's own, by the kind of the message. Nothing waits for it: the next value may fit. */
  const misfits = new Map<string, PartialFault>()

  function* partsOf(names: HealthAttempt['names']): Generator<CarrierRecord> {
    if (parts.size === 0) return
    const used = names()
    for (const scope of PARTS) {
      const record = parts.get(`${scope} ${used[scope] ?? ''}`)
      if (record !== undefined) yield record
    }
  }

  function partOf(scope: Part, { names }: HealthAttempt): CarrierRecord {
    const name = names()[scope] ?? ''
    const record = parts.get(`${scope} ${name}`) ?? newRecord(scope, name)
    parts.set(`${scope} ${name}`, record)
    const oldest =
      parts.size > MOST_PARTS ? [...parts.values()].find(each => each.scope === 'domain') : undefined
    if (oldest !== undefined) forgetPart(oldest)
    return record
  }

  function forgetPart({ scope, name }: CarrierRecord): void {
    parts.delete(`${scope} ${name}`)
  }

  function rest(
    record: CarrierRecord,
    fault: PartialFault,
    isForOperator: boolean,
    now: number,
    leastMs = 0,
  ): void {
    leaveAlone(record, fault, isForOperator, now, { random, leastMs })
    Object.assign(record, { restedAt: now, triedBy: null, isAsked: false })
  }

  /** It failed. @returns whether it rests since this moment, or again */
  function fail(
    record: CarrierRecord,
    outcome: Fault,
    attempt: HealthAttempt,
    now: number,
    isNamed = false,
  ): boolean {
    const { fault, scope, name, latest } = record
    const { code, reply } = outcome
    if (fault !== null && isNamed) record.fault = { ...fault, code, reply }
    if (fault === null && !isNamed) {
      if (attempt.startedAt < record.restedAt) return false
      note(record, attempt, true)
      const failed = latest.filter(each => each.failed).length
      const areInARow =
        latest.length >= LATEST.inARow && latest.slice(-LATEST.inARow).every(each => each.failed)
      if (!areInARow && failed < LATEST.mostFailed) return false
    } else if (fault !== null && record.triedBy !== attempt.nth) return false
    record.isNamed ||= isNamed
    const met = fault ?? { scope, name, kind: attempt.kind, since: now, until: null }
    rest(
      record,
      { ...met, code, reply },
      isOperatorFault(outcome),
      now,
      outcome.is === 'limit' ? outcome.retryAfterMs : 0,
    )
    return true
  }

  /** A part rests now, or again: that is told once, and not while its carrier rests, unless the provider named it. */
  function* tellPart(record: CarrierRecord): Generator<PartialFaultChange> {
    if (record.fault === null || record.isTold || (whole.fault !== null && !record.isNamed)) return
    record.isTold = true
    yield { is: 'begun', fault: { ...record.fault, until: record.until } }
  }

  /** An attempt was answered, or taken, in all these parts. */
  function* answerParts(outcome: Outcome, attempt: HealthAttempt): Generator<PartialFaultChange> {
    for (const record of partsOf(attempt.names)) {
      const { fault, isNamed, isTold } = record
      if (fault === null) note(record, attempt, false)
      if (fault === null ? record.latest.some(({ failed }) => failed) : isNamed && outcome.is !== 'sent')
        continue
      forgetPart(record)
      if (fault !== null && isTold) yield { is: 'over', fault }
    }
  }

  function forgetTrial(attempt: HealthAttempt): void {
    if (whole.triedBy === attempt.nth) whole.triedBy = null
    for (const record of partsOf(attempt.names)) if (record.triedBy === attempt.nth) record.triedBy = null
  }

  function answerWhole(attempt: HealthAttempt, now: number): HealthChange['circuit'] {
    const { place, nth } = attempt
    latestAnswered = Math.max(latestAnswered, nth)
    answered = [{ place, at: now }, ...answered.filter(each => each.place !== place)].slice(0, 2)
    if (whole.fault === null) {
      note(whole, attempt, false)
      return null
    }
    recover(whole)
    whole.latest = []
    // What failed with the carrier is tried now, too.
    for (const record of parts.values()) if (!record.isNamed) record.until = now
    return 'closed'
  }

  /** Finds where an attempt failed; null: what could not be connected, or logged in to, says nothing of where its message goes. */
  function placeRecordOf(outcome: Fault, attempt: HealthAttempt): CarrierRecord | null {
    const isUntouched = outcome.is === 'retry' && outcome.untouched === true
    if (isUntouched || faultScopeOf(outcome) !== 'transport') return null
    const scope = PLACES.find(each => attempt.names()[each] !== undefined)
    return scope === undefined ? null : partOf(scope, attempt)
  }

  /** A value did not fit a template, which is told once; or a message of that kind was sent. */
  function* noteFit(
    outcome: Outcome,
    { kind, names }: HealthAttempt,
    now: number,
  ): Generator<PartialFaultChange> {
    const fault = misfits.get(kind)
    if (outcome.is === 'sent' && fault !== undefined) {
      misfits.delete(kind)
      yield { is: 'over', fault }
    }
    if (outcome.is !== 'rejected' || outcome.scope !== 'template' || fault !== undefined) return
    const { scope, code, reply } = outcome
    const begun = { scope, name: names().template ?? '', kind, since: now, until: null, code, reply }
    misfits.set(kind, begun)
    yield { is: 'begun', fault: begun }
  }

  /**
   * Takes the outcome of an attempt, or that it is overdue, and charges it to what it concerns: the carrier (account, transport), a
   * template, a sender or a place of it, or its message alone.
   */
  function record(outcome: Outcome, attempt: HealthAttempt, now: number): HealthChange {
    if (saysNothing(outcome)) {
      forgetTrial(attempt)
      return UNCHANGED
    }
    if (outcome.is === 'sent' || !isProviderDown(outcome)) {
      const circuit = answerWhole(attempt, now)
      const scope = outcome.is === 'sent' ? undefined : PARTS.find(each => each === faultScopeOf(outcome))
      const over = [...answerParts(outcome, attempt), ...noteFit(outcome, attempt, now)]
      const isNamed = outcome.is !== 'sent' && scope !== undefined && isOperatorFault(outcome)
      const named = isNamed ? partOf(scope, attempt) : null
      const rests = named !== null && isNamed && fail(named, outcome, attempt, now, true)
      forgetTrial(attempt)
      return { circuit, faults: rests ? [...over, ...tellPart(named)] : over }
    }
    const wasWell = whole.fault === null
    const place = placeRecordOf(outcome, attempt)
    const rests = place !== null && fail(place, outcome, attempt, now)
    // What began later was answered, or others were a while ago: what fails there, or where nothing was answered before, is the place's.
    const isElsewhere = answered.some(each => each.place !== attempt.place && now - each.at < ELSEWHERE_MS)
    const isAlone =
      attempt.nth < latestAnswered || (isElsewhere && (attempt.isStrange || place?.fault != null))
    const isPlaceAlone = wasWell && place !== null && isAlone
    if (isPlaceAlone) whole.latest = whole.latest.filter(each => each.place !== attempt.place)
    const circuit = !isPlaceAlone && fail(whole, outcome, attempt, now) && wasWell ? 'open' : null
    const faults = rests ? [...tellPart(place)] : []
    forgetTrial(attempt)
    return { circuit, faults }
  }

  return {
    /** The records of all that is not well, or has failed of late; the carrier's own is the first. */
    records: (): readonly CarrierRecord[] => [whole, ...parts.values()],
    /** Says until when the carrier is left alone; null: it may be asked. */
    restsUntil: (now: number): number | null => restsUntil(whole, now),
    state: (): CircuitState =>
      whole.fault === null ? 'closed' : whole.triedBy === null ? 'open' : 'half-open',
    /** When its rest ends; null: it is well. */
    openUntil: (): number | null => (whole.fault === null ? null : whole.until),
    /** Finds the part that a message would meet now and that is left alone, and until when. */
    findFault(names: HealthAttempt['names'], now: number) {
      let found: { readonly scope: Part; readonly until: number } | null = null
      for (const each of partsOf(names)) {
        const until = restsUntil(each, now)
        if (until === null || (found !== null && until <= found.until)) continue
        found = { scope: each.scope as Part, until }
      }
      return found
    },
    /** An attempt begins: it tries what has rested. */
    begin(attempt: HealthAttempt, now: number): void {
      for (const each of [whole, ...partsOf(attempt.names)])
        if (each.fault !== null && now >= each.until) each.triedBy ??= attempt.nth
    },
    /** The attempt never began, or says nothing. */
    forgetTrial,
    record,
    /** Ends all rests: what failed may be repaired, and the next attempt finds out. */
    allowTrialNow(now: number): void {
      for (const each of [whole, ...parts.values()]) {
        each.rests = 0
        each.until = now
      }
    },
    /** Takes the templates and senders whose rest is nearly over: the provider may be asked whether it approves of them. Each is given once a rest. */
    *takeForLook(now: number): Generator<{ readonly scope: 'template' | 'sender'; readonly name: string }> {
      for (const each of parts.values()) {
        const { scope, name, isAsked, triedBy, until } = each
        if (scope !== 'template' && scope !== 'sender') continue
        if (isAsked || triedBy !== null || until - now > LOOK_AHEAD_MS) continue
        each.isAsked = true
        yield { scope, name }
      }
    },
    /** Takes what the provider says of one of them. @param hindrance null: it approves of it. @returns whether a message may try it now */
    noteLook(scope: Part, name: string, hindrance: Words | null, now: number): boolean {
      const found = parts.get(`${scope} ${name}`)
      if (found === undefined || found.fault === null) return false
      if (hindrance === null) found.until = now
      else {
        rest(found, { ...found.fault, reply: hindrance }, true, now)
        found.until = Math.min(found.until, now + LONGEST_LOOK_MS)
      }
      return hindrance === null
    },
    /** What the carrier itself rests for; null: it is well. */
    fault: (): PartialFault | null => whole.fault && { ...whole.fault, until: whole.until },
    faults(): readonly PartialFault[] {
      const told = [...parts.values()].flatMap(({ scope, fault, isTold, until }) =>
        fault === null || !isTold || scope === 'domain' ? [] : { ...fault, until },
      )
      return [...told, ...misfits.values()]
    },
    isTroubled: (): boolean => [whole, ...parts.values()].some(({ fault }) => fault !== null),
  }
}
