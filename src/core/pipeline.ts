import type { BreakerSettings } from './breaker.js';
import type { DeathSettings } from './deaths.js';
import type { ErrorClass } from './error-class.js';
import { assertSoundTable } from './sound-table.js';
import type { Span } from './span.js';

/** The consequence of spent error tries: move the item, go on without this stage, or end the run and leave the item to
 *  the sweep. `trigger` is the word in the audit trail; without it, `<stage>-failed`. */
export type Spent<State extends string> = { move: State; trigger?: string } | 'skip' | 'leave';

export interface StageRow<Name extends string = string, State extends string = string> {
  stage: Name;
  /** The number of errors after which the tries are spent. Crashes, backlog and outages are counted elsewhere. */
  tries: number;
  /** How long one attempt may take. The runner then aborts the attempt and commits a timeout as its error. */
  within: Span;
  /** The heartbeat timeout: a frozen or cut-off worker goes unseen for this long. */
  beats?: Span;
  /** The longest silence of the stage itself. The runner then aborts the attempt, so that a hung call does not beat for
   *  ever. */
  progressWithin?: Span;
  /** The wait between error tries. It doubles from `first` to `max`. */
  backoff?: { first: Span; max: Span };
  spent: Spent<State>;
  /** Classes that in this stage are the item's own fault, such as a timeout of work that depends on nothing but its
   *  worker. No breaker counts them. BAD_INPUT is always the item's own fault. */
  ownFaults?: readonly ErrorClass[];
  /** The stage takes well under two seconds and does not beat. It runs as a local activity, claimed and fenced like any
   *  other. */
  short?: boolean;
  /** Present on a stage that runs once per unit. */
  fanOut?: FanOut;
}

export interface FanOut {
  /** Units in flight at once. */
  width: number;
  /** `all`: one failed unit spends the stage; `any`: failed units are left behind; `asked`: the item's row chooses. */
  needs: 'all' | 'any' | 'asked';
}

/** Why an item rests, as its diagnosis says it. */
export type RestReason = 'awaiting_upload' | 'backlog' | 'not_due';

/** Who may decide: the item's owner, or any reviewer. An admin may decide in place of both. */
export type Decider = 'owner' | 'reviewer';

interface Leaves<State extends string> {
  then: Readonly<Record<string, State>>;
  /** The word in the audit trail for each outcome; without it, `<stage>-<outcome>`. */
  triggers?: Readonly<Record<string, string>>;
  /** The actor that the audit trail names for an outcome; without it, the worker that committed the outcome. */
  by?: 'system';
  /** How many items may be in this state at once. */
  admits?: number;
}

export type DoesRow<State extends string = string> = Leaves<State> & {
  does: StageRow<string, State> | readonly StageRow<string, State>[];
};
export type AwaitsRow<State extends string = string> = Leaves<State> & {
  awaits: Decider;
  /** Outcomes for which the person must give a reason. A decision without it is refused, on every route. */
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
    /** An item that has been silent for longer is parked, not rescued. */
    oldestRescued: Span;
    exhausted: string | ({ other: string } & Partial<Record<ErrorClass, string>>);
    /** The word in the audit trail for exhaustion after an error of this class; without it, `stuck-exhausted`. */
    triggers?: Partial<Record<ErrorClass, string>>;
    /** The state that a rescue puts the item in; without it, the item stays in its state. */
    resumesAt?: string;
  };
  cancelled: string;
  /** The states from which a person may retry; without it, the start and all states that a run drives. */
  retries?: readonly string[];
  /** When a storm of failures holds the pipeline's stages. The settings add it to every table; without it no breaker
   *  opens. */
  breaker?: BreakerSettings;
  /** At how many deaths a task is a suspect, and poison. The settings add it to every table; without it the defaults hold. */
  deaths?: DeathSettings;
  /** The column of the domain's own table with the mail address of a person who is told of the item's end, besides its
   *  owner. */
  tells?: {
    table: string;
    column: string;
    /** The address is the owner's. The owner is told with or without it, and only of a failure that is not their own cancelling.
     *  `facts`: names in the event's payload, and the columns of the domain's own row behind them. */
    owner?: { facts: Readonly<Record<string, string>> };
  };
  /** How many live items one owner may have. Admins are not limited. Without this number no owner is limited. */
  livePerOwner?: number;
  /** Whether a dedupe key is unique among live items only, or among all items that ever were. */
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

/** `needsReason` may name outcomes of its row and no other word. */
type ReasonsOfOutcomes<S> = {
  [K in keyof S]: S[K] extends { then: infer Then; needsReason: unknown }
    ? { needsReason: readonly (keyof Then)[] }
    : unknown;
};

/** The state that spent tries lead to. `skip` and `leave` lead to no state. */
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

/** A pipeline is this one table; everything else is derived from it. The compiler refuses an unknown state. The checks
 *  here refuse faults that types can't see: loops, stages named twice, a fan-out that nothing feeds. */
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

/** The states that await a person, and the decisions that are possible there. */
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

/** The outcomes of a stage: those of its row if it is the state's last stage, otherwise `done`. A unit of a fan-out
 *  always ends with `done`. */
export type OutcomeOf<P, Name extends string> = P extends { states: infer S }
  ? { [K in keyof S]: Name extends StageNameIn<S[K]> ? AnswerIn<S[K], Name> : never }[keyof S]
  : never;

type AnswerIn<Row, Name extends string> =
  LastOf<Row> extends { stage: Name } ? (LastOf<Row> extends { fanOut: FanOut } ? 'done' : OutcomesIn<Row>) : 'done';
