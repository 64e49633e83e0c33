import type { Diagnosis, Reason } from '../../../core/diagnosis.js';

/** The known facts of a live submission. Anybody with its link may read some of them. */
export interface LiveLook {
  state: string;
  diagnosis: Pick<Diagnosis, 'reason' | 'nextAt'>;
  now: Date;
  /** Somebody has paused the sweep that restarts interrupted work. */
  isUnswept: boolean;
}

/** The sentence for each state that an automatic stage or a reviewer moves on. */
const WORK: Readonly<Record<string, string>> = {
  VENDOR_APPROVED: 'It is from a trusted organisation and is being published',
  TIER1_SCANNING: 'It is being fetched and scanned',
  TIER2_SCANNING: 'It is being judged',
  AUTO_APPROVED: 'It is approved and being published',
  NEEDS_REVIEW: 'A person looks at it next',
  TIER3_REVIEW: 'A reviewer decides on it next',
};

type Sentence = (look: LiveLook) => string;

/** In words for everybody: no names, ids, errors or reasons of ours, and nothing that an operator typed. */
const SENTENCES = {
  running: workOf,
  awaiting_decision: workOf,
  not_due: () => 'It is taken up in a moment',
  backlog: () => 'It waits for its turn and goes on by itself',
  start_lost: () => 'It has not been taken up yet, and is started again by itself',
  no_worker: () =>
    'Nobody works on submissions at the moment. The operators are told of that; once somebody works again, it goes on by itself',
  engine_unreachable: () =>
    'A part of this service is away, and nothing moves until it is back. It then goes on by itself',
  retrying: (look) => `A try at it failed; ${whenOf('the next one is made', look)}`,
  breaker_open: (look) =>
    `It is held back, because something that submissions need fails at the moment; ${whenOf('the next try is made', look)}`,
  paused: ({ diagnosis: { nextAt } }) =>
    nextAt
      ? `It is paused until ${nextAt.toISOString()} and goes on by itself then`
      : 'It is paused until an operator resumes it',
  silent_worker: () => 'The work on it has stalled, and is given to somebody else by itself',
  worker_died: () => 'The work on it was interrupted, and is taken over by itself',
  suspect_wait: () => 'The work on it was interrupted more than once; it waits to be tried with more care',
  workflow_closed: (look) => `The work on it broke off; ${rescueOf('the next check, which comes by itself,', look)}`,
  rescue_wait: (look) =>
    `The work on it broke off; ${rescueOf(`the first check after ${look.diagnosis.nextAt?.toISOString() ?? 'a while'}`, look)}`,
  wedged: () => 'It cannot go on before an operator has mended something',
  parked: () => 'It waits for an operator, who has been told',
  awaiting_upload: () => 'It waits for its upload',
  finished: () => 'It has ended',
} as const satisfies Record<Reason, Sentence>;

/** The next action for a live submission, in words. */
export function publicNextOf(look: LiveLook): string {
  return `${SENTENCES[look.diagnosis.reason](look)}; there is nothing to do.`;
}

function workOf({ state }: LiveLook): string {
  return (Object.hasOwn(WORK, state) && WORK[state]) || 'It is being worked on';
}

function whenOf(what: string, { diagnosis: { nextAt }, now }: LiveLook): string {
  return nextAt && nextAt > now ? `${what} at ${nextAt.toISOString()}` : `${what} in a moment`;
}

/** A check may also find that it was rescued often enough. */
function rescueOf(check: string, { isUnswept }: LiveLook): string {
  return isUnswept
    ? 'the checks that take it up again are stopped until an operator resumes them'
    : `${check} takes it up again, or says why not`;
}
