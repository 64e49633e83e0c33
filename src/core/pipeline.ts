import type { BreakerSettings } from './breaker.js';
import type { ErrorClass } from './error-class.js';
import { assertSoundTable } from './sound-table.js';
import type { Span } from './span.js';

/** What spent error tries do: move the item, go on without this stage, or end the run and leave the item to the sweep.
 *  `trigger` is the word in the audit trail; without one, `<stage>-failed`. */
export type Spent<State extends string> = { move: State; trigger?: string } | 'skip' | 'leave';

export interface StageRow<Name extends string = string, State extends string = string> {
  stage: Name;
  /** Errors until the tries are spent. Crashes, backlog and outages are counted elsewhere. */
  tries: number;
  /** How long one attempt may take; the runner aborts it then and commits that as an error. */
  within: Span;
  /** Heartbeat timeout: how long a frozen or cut-off worker goes unseen. */
  beats?: Span;
  /** Longest silence of the stage itself; past it the runner aborts, so that a hung call does not beat for ever. */
  progressWithin?: Span;
  /** Wait between error tries, doubling from `first` to `max`. */
  backoff?: { first: Span; max: Span };
  spent: Spent<State>;
  /** Classes that in this stage are the item's own doing, such as the timeout of work that needs nobody else: no breaker counts
   *  them. BAD_INPUT always is. */
  ownFaults?: readonly ErrorClass[];
  /** Well under two seconds and without beats: runs as a local activity, claimed and fenced all the same. */
  short?: boolean;
  /** Present on a stage that runs once per unit. */
  fanOut?: FanOut;
}

export interface FanOut {
  /** Units in flight at once. */
  width: number;
  /** `all`: one failed unit spends the stage; `any`: failed units are left behind; `asked`: the item says which. */
  needs: 'all' | 'any' | 'asked';
}

/** Why an item rests, as its diagnosis says it. */
export type RestReason = 'awaiting_upload' | 'backlog' | 'not_due';

interface Leaves<State extends string> {
  then: Readonly<Record<string, State>>;
  /** The word an outcome leaves in the audit trail; without one, `<stage>-<outcome>`. */
  triggers?: Readonly<Record<string, string>>;
  /** Who the audit trail names for an outcome; without it the worker that committed it. */
  by?: 'system';
  /** How many items may be in this state at once. */
  admits?: number;
}

export type DoesRow<State extends string = string> = Leaves<State> & {
  does: StageRow<string, State> | readonly StageRow<string, State>[];
};
export type AwaitsRow<State extends string = string> = Leaves<State> & {
  awaits: string;
  /** The outcomes that whoever decides must give a reason for; a decision without one is refused, by whatever route it comes. */
  needsReason?: readonly string[];
};
export type RestsRow<State extends string = string> = Leaves<State> & { rests: RestReason };
export interface EndsRow<State extends string = string> {
  ends: 'done' | 'failed';
  reopens?: State;
}
export type StateRow<State extends string = string> =
  DoesRow<State> | AwaitsRow<State> | RestsRow<State> | EndsRow<State>;

export type States = Readonly<Record<string, StateRow>>;

export interface Pipeline<Name extends string = string, S = States> {
  name: Name;
  start: string;
  sweep: { every: Span; staleAfter: Span; stuckAfter: Span };
  rescue: {
    budget: number;
    backoff: readonly Span[];
    budgetResetAfter: Span;
    /** Older work is parked, not rescued. */
    oldestRescued: Span;
    exhausted: string | ({ other: string } & Partial<Record<ErrorClass, string>>);
    /** The word that exhaustion after this class leaves in the audit trail; without one, `stuck-exhausted`. */
    triggers?: Partial<Record<ErrorClass, string>>;
    /** Where a rescue puts the item; without it, it goes on where it was. */
    resumesAt?: string;
  };
  cancelled: string;
  /** The states that a person may begin anew from; without it, the start and all that a run drives. */
  retries?: readonly string[];
  /** When a storm of failures holds its stages; laid over every table by the settings, without it nothing does. */
  breaker?: BreakerSettings;
  /** Whom an item's end concerns besides its owner: the mail address, if there is one, in this column of the domain's own row. */
  tells?: { table: string; column: string };
  /** Whether a dedupe key is unique among live items only, or among all there ever were. */
  dedupes?: 'live' | 'all';
  states: S;
}

type StateNames<S> = keyof S & string;

interface Table<Name extends string, S> extends Pipeline<Name, S & ReasonsOfOutcomes<S>> {
  start: StateNames<S>;
  cancelled: StateNames<S>;
  retries?: readonly StateNames<S>[];
  rescue: Omit<Pipeline['rescue'], 'exhausted' | 'resumesAt'> & {
    exhausted: StateNames<S> | ({ other: StateNames<S> } & Partial<Record<ErrorClass, StateNames<S>>>);
    resumesAt?: StateNames<S>;
  };
}

/** A reason can be asked for an outcome of the row, and for no other word. */
type ReasonsOfOutcomes<S> = {
  [K in keyof S]: S[K] extends { then: infer Then; needsReason: unknown }
    ? { needsReason: readonly (keyof Then)[] }
    : unknown;
};

/** Where spent tries may lead: nowhere for `skip` and `leave`. */
type SpentState<S> = S extends { move: infer State extends string } ? State : never;

type StageOptions<S> = Omit<StageRow, 'stage' | 'fanOut' | 'spent'> & { spent: S };

export function stage<const Name extends string, const S extends Spent<string>>(
  name: Name,
  options: StageOptions<S>,
): StageRow<Name, SpentState<S>> {
  return { stage: name, ...options } as StageRow<Name, SpentState<S>>;
}

/** A stage that runs once per unit. The stage before it returns the units. */
export function fanOut<const Name extends string, const State extends string>(
  name: Name,
  options: Omit<StageOptions<Exclude<Spent<State>, string>>, 'short'> & FanOut,
): StageRow<Name, State> & { fanOut: FanOut } {
  const { width, needs, ...row } = options;
  return { stage: name, ...row, fanOut: { width, needs } };
}

/** A pipeline is this one table; everything else is derived from it. The compiler refuses an unknown state, the checks
 *  here refuse what types can't see (loops, stages named twice, a fan-out that nothing feeds). */
export function definePipeline<const Name extends string, const S extends Record<string, StateRow<StateNames<S>>>>(
  table: Table<Name, S>,
): Pipeline<Name, S> {
  assertSoundTable(table);
  return table;
}

type StageRowOf<Row> = Row extends { does: infer D } ? (D extends readonly (infer Each)[] ? Each : D) : never;
type NameOf<Each> = Each extends { stage: infer Name extends string } ? Name : never;
type StageNameIn<Row> = NameOf<StageRowOf<Row>>;
type LastOf<Row> = Row extends { does: infer D } ? (D extends readonly [...unknown[], infer Last] ? Last : D) : never;
type OutcomesIn<Row> = Row extends { then: infer Then } ? keyof Then & string : never;

/** The states that await somebody, and what may be decided there. */
export type AwaitingOf<P> = P extends { states: infer S }
  ? { [K in keyof S]: S[K] extends { awaits: string } ? K & string : never }[keyof S]
  : never;
export type DecisionOf<P, State extends string> = P extends { states: infer S }
  ? State extends keyof S
    ? OutcomesIn<S[State]>
    : never
  : never;

export type StateOf<P> = P extends { states: infer S } ? StateNames<S> : never;
export type StageOf<P> = P extends { states: infer S } ? { [K in keyof S]: StageNameIn<S[K]> }[keyof S] : never;

/** What a stage may answer: the outcomes of its row if it is the state's last, `done` otherwise and for each unit. */
export type OutcomeOf<P, Name extends string> = P extends { states: infer S }
  ? { [K in keyof S]: Name extends StageNameIn<S[K]> ? AnswerIn<S[K], Name> : never }[keyof S]
  : never;

type AnswerIn<Row, Name extends string> =
  LastOf<Row> extends { stage: Name } ? (LastOf<Row> extends { fanOut: FanOut } ? 'done' : OutcomesIn<Row>) : 'done';
