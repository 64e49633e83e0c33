export interface QueueFacts {
  pause: { until: Date; reason: string } | null;
  isEngineThere: boolean;
  /** Workers that ask for work. Undefined: not known. */
  workers: number | undefined;
  /** Items that stand in the queue. */
  waiting: number;
  breakers: readonly { class: string; state: 'open' | 'releasing'; nextPassAt: Date; waiting: number }[];
  lateSweeps: readonly string[];
  hasStuck: boolean;
}

/** The reasons why a queue does not go on as it should, in words. An empty list means that the queue is well. A queue
 *  without work needs no worker. */
export function degradationsOf(facts: QueueFacts): string[] {
  const { pause, isEngineThere, workers, waiting, breakers, lateSweeps, hasStuck } = facts;
  return [
    ...(pause ? [`it is paused until ${pause.until.toISOString()}: ${pause.reason}`] : []),
    ...(isEngineThere ? [] : ['Temporal does not answer']),
    ...(workers === 0 && waiting > 0 ? [`no worker asks for work, and ${waitingSentence(waiting)} for one`] : []),
    ...breakers.map(breakerSentence),
    ...lateSweeps,
    ...(hasStuck ? ['items are stuck'] : []),
  ];
}

function breakerSentence({ class: errorClass, state, nextPassAt, waiting }: QueueFacts['breakers'][number]): string {
  const what =
    state === 'open'
      ? `the breaker for ${errorClass} is open until a try succeeds, the next at ${nextPassAt.toISOString()}`
      : `the breaker for ${errorClass} lets them through one after the other`;
  return `${what}; ${waitingSentence(waiting)} for it`;
}

function waitingSentence(waiting: number): string {
  return waiting === 1 ? '1 item waits' : `${waiting} items wait`;
}
