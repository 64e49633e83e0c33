export interface QueueFacts {
  pause: { until: Date; reason: string } | null;
  engineIsThere: boolean;
  /** Those that ask for work; undefined: not known. */
  workers: number | undefined;
  /** Submissions that stand in the queue. */
  waiting: number;
  breakers: readonly { class: string; state: 'open' | 'releasing'; nextPassAt: Date; waiting: number }[];
  lateSweeps: readonly string[];
  hasStuck: boolean;
}

/** What keeps a queue from going on as it should, in words; nothing: it is well. A queue without work needs no worker. */
export function whyDegraded(facts: QueueFacts): string[] {
  const { pause, engineIsThere, workers, waiting, breakers, lateSweeps, hasStuck } = facts;
  return [
    ...(pause ? [`it is paused until ${pause.until.toISOString()}: ${pause.reason}`] : []),
    ...(engineIsThere ? [] : ['Temporal does not answer']),
    ...(workers === 0 && waiting > 0 ? [`no worker asks for work, and ${inWords(waiting)} for one`] : []),
    ...breakers.map(ofBreaker),
    ...lateSweeps,
    ...(hasStuck ? ['submissions are stuck'] : []),
  ];
}

function ofBreaker({ class: errorClass, state, nextPassAt, waiting }: QueueFacts['breakers'][number]): string {
  const what =
    state === 'open'
      ? `the breaker for ${errorClass} is open until a try succeeds, the next at ${nextPassAt.toISOString()}`
      : `the breaker for ${errorClass} lets them through one after the other`;
  return `${what}; ${inWords(waiting)} for it`;
}

function inWords(waiting: number): string {
  return waiting === 1 ? '1 submission waits' : `${String(waiting)} submissions wait`;
}
