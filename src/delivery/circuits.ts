import type { FaultScope } from '../messages/message.ts'
import { faultScopeOf, isOperatorFault, type Outcome, type ScopeNames } from '../providers/provider.ts'
import { type Backoff, createBackoff } from '../runtime/backoff.ts'

/** The scopes with circuits of their own. What is wider is the carrier's own circuit, and what is narrower has none: its message is tried again. */
type CircuitScope = keyof ScopeNames
const SCOPES = ['template', 'sender', 'country'] as const satisfies readonly CircuitScope[]

/** A fault that concerns a part of what a carrier is asked for. */
export interface PartialFault {
  /** `carrier`: many different messages were refused alike, so that the fault may be the whole carrier's. Nothing waits for that. */
  readonly scope: FaultScope | 'carrier'
  /** The template, sender or country that is refused; empty for the carrier, and where all messages share one; the code of a report. */
  readonly name: string
  /** The kind of the message that was refused first. */
  readonly kind: string
  /** ms since the epoch. */
  readonly since: number
  /** Until when nothing in it is tried; null: nothing waits for it. ms since the epoch. */
  readonly until: number | null
  readonly code: string
  readonly reply: string
  /** It took the messages, and then reported that they did not arrive: so many recipients have met that. Absent: it refuses them. */
  readonly recipients?: number
}

/** A partial fault that has just begun or ended. */
export interface PartialFaultChange {
  readonly is: 'begun' | 'over'
  readonly fault: PartialFault
}

/** A message, as far as a fault may concern it. As an object it stands for its attempt. */
export interface AttemptedPart {
  readonly kind: string
  readonly recipient: string
  /** What it would use; nobody asks as long as no circuit is open. */
  readonly names: () => ScopeNames
}

interface Circuit {
  fault: PartialFault & { readonly scope: CircuitScope }
  until: number
  readonly backoff: Backoff
  /** The provider was asked in this rest whether it approves. */
  isAsked: boolean
  trial: { readonly by: AttemptedPart; readonly begunAt: number } | null
}

const REST_MS = { first: 2000, most: 60_000 }
/** Where the provider can be asked whether it approves, it is asked that often at least while messages wait, ms. */
const LONGEST_LOOK_MS = 15_000
/** It is asked so long before a message would try it, ms. */
const LOOK_AHEAD_MS = 1500
/** How long one trial is waited for before the next, ms. */
const TRIAL_MS = 30_000
/** How long others wait while one message is the trial, ms. */
const TRIAL_STEP_MS = 1000

/**
 * Makes the circuits of a carrier that are about a template, a sender or a country. One refusal that names it opens it, since such
 * a refusal meets every message in it and no other; then one message at a time tries it, after rests that grow. A refusal that
 * ends its message (an SMS to a country that the account may not send to) opens nothing: nobody waits for it.
 */
export function createCircuits(random: () => number) {
  const circuits = new Map<string, Circuit>()

  function* those({ names }: Pick<AttemptedPart, 'names'>): Generator<Circuit> {
    const used = names()
    for (const scope of SCOPES) {
      const circuit = circuits.get(`${scope} ${used[scope] ?? ''}`)
      if (circuit !== undefined) yield circuit
    }
  }

  function rest(circuit: Circuit, now: number, leastMs: number, mostMs = Infinity): void {
    circuit.until = now + Math.max(Math.min(circuit.backoff.failed(), mostMs), leastMs)
    circuit.isAsked = false
    circuit.trial = null
  }

  function forgetTrial(part: AttemptedPart): void {
    if (circuits.size === 0) return
    for (const circuit of those(part)) if (circuit.trial?.by === part) circuit.trial = null
  }

  function noteRefusal(
    scope: CircuitScope,
    part: AttemptedPart,
    outcome: Exclude<Outcome, { is: 'sent' }>,
    now: number,
  ): PartialFaultChange | null {
    const { code, reply } = outcome
    const leastMs = outcome.is === 'limit' ? outcome.retryAfterMs : 0
    const name = part.names()[scope] ?? ''
    const circuit = circuits.get(`${scope} ${name}`)
    if (circuit !== undefined) {
      circuit.fault = { ...circuit.fault, code, reply }
      if (circuit.trial?.by === part) rest(circuit, now, leastMs)
      return null
    }
    const fault = { scope, name, kind: part.kind, since: now, until: null, code, reply }
    const backoff = createBackoff(REST_MS, random)
    const opened = { fault, until: now, backoff, isAsked: false, trial: null }
    rest(opened, now, leastMs)
    circuits.set(`${scope} ${name}`, opened)
    return { is: 'begun', fault: { ...fault, until: opened.until } }
  }

  return {
    /** Finds the fault that a message would meet now, and until when it is left alone; null: it may be sent. */
    findFault(part: Pick<AttemptedPart, 'names'>, now: number) {
      let found: { readonly scope: CircuitScope; readonly until: number } | null = null
      if (circuits.size === 0) return found
      for (const { fault, until, trial } of those(part)) {
        const isTried = trial !== null && now - trial.begunAt < TRIAL_MS
        if (now >= until && !isTried) continue
        const end = Math.max(until, isTried ? now + TRIAL_STEP_MS : 0)
        if (found === null || end > found.until) found = { scope: fault.scope, until: end }
      }
      return found
    },
    /** An attempt begins: it is the trial of those circuits whose rest is over. */
    beginAttempt(part: AttemptedPart, now: number): void {
      if (circuits.size === 0) return
      for (const circuit of those(part)) if (now >= circuit.until) circuit.trial = { by: part, begunAt: now }
    },
    /** The attempt never began. */
    forgetTrial,
    /** Takes the outcome of an attempt. @returns the faults that it has begun or ended */
    record(outcome: Outcome, part: AttemptedPart, now: number): readonly PartialFaultChange[] {
      if (outcome.is === 'sent' && circuits.size === 0) return []
      if (outcome.is === 'sent') {
        const over = [...those(part)].map(({ fault }) => ({ is: 'over' as const, fault }))
        for (const { fault } of over) circuits.delete(`${fault.scope} ${fault.name}`)
        return over
      }
      const scope = faultScopeOf(outcome)
      const change =
        isCircuitScope(scope) && isOperatorFault(outcome) ? noteRefusal(scope, part, outcome, now) : null
      // Its end says nothing of the other circuits that it tried: the next message tries them.
      forgetTrial(part)
      return change === null ? [] : [change]
    },
    /** Takes the templates and senders whose rest is nearly over: the provider may be asked whether it approves of them. Each is given once a rest. */
    *takeForLook(now: number): Generator<{ readonly scope: 'template' | 'sender'; readonly name: string }> {
      for (const circuit of circuits.values()) {
        const { scope, name } = circuit.fault
        const isAsked = circuit.isAsked || circuit.trial !== null
        if (scope === 'country' || isAsked || circuit.until - now > LOOK_AHEAD_MS) continue
        circuit.isAsked = true
        yield { scope, name }
      }
    },
    /** Takes what the provider says of one of them. @param hindrance null: it approves of it. @returns whether a message may try it now */
    noteLook(scope: CircuitScope, name: string, hindrance: string | null, now: number): boolean {
      const circuit = circuits.get(`${scope} ${name}`)
      if (circuit === undefined) return false
      if (hindrance === null) circuit.until = Math.min(circuit.until, now)
      else {
        circuit.fault = { ...circuit.fault, reply: hindrance }
        rest(circuit, now, 0, LONGEST_LOOK_MS)
      }
      return hindrance === null
    },
    /** Ends all rests: what was refused may be mended, and the next message finds out. */
    allowTrialNow(now: number): void {
      for (const circuit of circuits.values()) {
        circuit.until = Math.min(circuit.until, now)
        circuit.backoff.succeeded()
      }
    },
    faults: (): readonly PartialFault[] =>
      [...circuits.values()].map(({ fault, until }) => ({ ...fault, until })),
  }
}

function isCircuitScope(scope: FaultScope): scope is CircuitScope {
  return (SCOPES as readonly string[]).includes(scope)
}

/** So many recipients, of several kinds of message, have to be refused before the carrier itself is suspected. */
const SEVERAL_RECIPIENTS = 5
const SEVERAL_KINDS = 2
/** So many are enough when they all are of one kind: some enterprises send no other. */
const MANY_RECIPIENTS = 20
/** Codes of a carrier that are kept apart; beyond them it is refusing all kinds of things. */
const MOST_CODES = 100

/**
 * Makes the function that finds out whether refusals of single messages make a fault of the whole carrier likely: the same one met many
 * recipients and kinds, and nothing was sent in between. That is said to the operator and changes nothing else: strangers choose
 * recipients, and whoever could delay others by naming some would do it. Until then such a refusal is `later`, which alarms nobody.
 */
export function createSuspicion() {
  const refused = new Map<string, { readonly recipients: Set<string>; readonly kinds: Set<string> }>()
  let suspected: PartialFault | null = null

  function isLikely(code: string, { recipient, kind }: AttemptedPart): boolean {
    const { recipients, kinds } = refused.get(code) ?? { recipients: new Set(), kinds: new Set() }
    if (refused.size < MOST_CODES) refused.set(code, { recipients, kinds })
    if (recipients.size < MANY_RECIPIENTS) recipients.add(recipient)
    if (kinds.size < SEVERAL_KINDS) kinds.add(kind)
    return recipients.size >= (kinds.size < SEVERAL_KINDS ? MANY_RECIPIENTS : SEVERAL_RECIPIENTS)
  }

  return {
    /** Judges an outcome by what was said to other messages. */
    judge(
      outcome: Outcome,
      part: AttemptedPart,
      now: number,
    ): { readonly outcome: Outcome; readonly change: PartialFaultChange | null } {
      if (outcome.is === 'sent') {
        const fault = suspected
        refused.clear()
        suspected = null
        return { outcome, change: fault === null ? null : { is: 'over', fault } }
      }
      const scope = faultScopeOf(outcome)
      const isOfOneMessage = scope === 'message' || scope === 'recipient'
      if (!isOfOneMessage || outcome.is !== 'retry' || outcome.whose !== 'ours')
        return { outcome, change: null }
      if (!isLikely(outcome.code, part)) return { outcome: { ...outcome, whose: 'later' }, change: null }
      if (suspected !== null) return { outcome, change: null }
      const { code, reply } = outcome
      suspected = { scope: 'carrier', name: '', kind: part.kind, since: now, until: null, code, reply }
      return { outcome, change: { is: 'begun', fault: suspected } }
    },
    fault: (): PartialFault | null => suspected,
  }
}
