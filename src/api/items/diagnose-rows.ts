import { diagnose, type Diagnosis, type Facts, lastSignOf, type Reason } from '../../core/diagnosis.js';
import type { RowFacts } from '../../db/recovery/row-facts.js';
import type { ApiParts } from '../parts.js';
import { askIfUnswept, findRuns, type LookAtRuns, lookAtQueue, type QueueLook } from './ask-engine.js';

type DiagnoseDeps = Pick<ApiParts, 'pool' | 'engine' | 'pipelines' | 'schedules'>;

export interface DiagnosedRow {
  row: RowFacts;
  facts: Facts;
  diagnosis: Diagnosis;
}

/** Reasons that only a sweep ends. */
const SWEPT: readonly Reason[] = ['workflow_closed', 'rescue_wait'];

/** Reasons that only Temporal can confirm or refute: the run may be gone, or no worker may ask for work. The row knows the other
 *  reasons for certain. */
const IN_DOUBT: readonly Reason[] = [
  ...(['backlog', 'start_lost', 'silent_worker', 'worker_died', 'retrying', 'suspect_wait', 'breaker_open'] as const),
  ...SWEPT,
];

/** An item that gave a sign of life in this time is on its way, so Temporal is not asked about it, unless its run has reported its
 *  end. */
const ASK_AFTER_MS = 5_000;

/** Diagnoses a page of a list. Temporal is asked once about all runs, once about each queue unless the caller has looked at it, and
 *  only about rows that the database can't explain. */
export async function diagnoseRows(
  deps: DiagnoseDeps,
  rows: readonly RowFacts[],
  engine: { isEngineThere: boolean; queue?: QueueLook },
): Promise<DiagnosedRow[]> {
  const said = await askAboutRows(deps, rows, { ...engine, lookAtRuns: findRuns });
  return rows.map((row, at) => {
    const facts: Facts = { ...row, pipeline: deps.pipelines[row.item.pipeline], ...said[at] };
    return { row, facts, diagnosis: diagnose(facts) };
  });
}

/** The facts of a diagnosis that are not in the rows, in the order of the rows. The item's own page and every list use this function, so
 *  that they ask about the same rows. */
export async function askAboutRows(
  deps: DiagnoseDeps,
  rows: readonly RowFacts[],
  { isEngineThere, ...ask }: Ask & { isEngineThere: boolean },
): Promise<Partial<Facts>[]> {
  const said = isEngineThere ? await askEngine(deps, rows, ask) : rows.map(() => AWAY);
  const isSwept = rows.map((row, at) => SWEPT.includes(reasonOf(deps, row, said[at])));
  const unswept = await askOfEach(
    rows.filter((_, at) => isSwept[at]).map(({ item }) => item.pipeline),
    (pipeline) => askIfUnswept(deps.schedules, pipeline),
  );
  return rows.map(({ item }, at) => ({ ...said[at], ...(isSwept[at] && unswept.get(item.pipeline)) }));
}

interface Ask {
  lookAtRuns: LookAtRuns;
  /** The caller's look at the queue of all these rows. */
  queue?: QueueLook;
}

const AWAY: Partial<Facts> = { engine: 'unknown' };

/** The common case costs no call: Temporal is not asked about an item that runs, waits for a person or has ended. */
async function askEngine(
  deps: DiagnoseDeps,
  rows: readonly RowFacts[],
  { lookAtRuns, queue }: Ask,
): Promise<Partial<Facts>[]> {
  const doubted = rows.filter((row) => isInDoubt(deps, row));
  if (doubted.length === 0) return rows.map(() => ({}));
  const [looks, queues] = await Promise.all([
    lookAtRuns(deps.engine, doubted),
    askOfEach(
      doubted.map(({ item }) => item.pipeline),
      async (pipeline) => queue ?? lookAtQueue(deps, pipeline),
    ),
  ]);
  const said = new Map(doubted.map((row, at) => [row, { ...looks[at], ...queues.get(row.item.pipeline) }]));
  return rows.map((row) => said.get(row) ?? {});
}

function isInDoubt(deps: Pick<DiagnoseDeps, 'pipelines'>, row: RowFacts): boolean {
  const { endedAt, runEndedAt } = row.item;
  if (endedAt) return false;
  const silentMs = row.now.getTime() - lastSignOf(row).getTime();
  return (runEndedAt !== null || silentMs >= ASK_AFTER_MS) && IN_DOUBT.includes(reasonOf(deps, row));
}

/** The reason as far as it is known without asking: by the rows, and where these leave it in doubt, by the last sweep. */
export function reasonInRows(deps: Pick<DiagnoseDeps, 'pipelines'>, row: RowFacts, isEngineThere: boolean): Reason {
  if (!isEngineThere) return reasonOf(deps, row, AWAY);
  return (isInDoubt(deps, row) ? row.swept?.reason : undefined) ?? reasonOf(deps, row);
}

function reasonOf({ pipelines }: Pick<DiagnoseDeps, 'pipelines'>, row: RowFacts, said: Partial<Facts> = {}): Reason {
  return diagnose({ ...row, pipeline: pipelines[row.item.pipeline], ...said }).reason;
}

async function askOfEach<Answer>(
  pipelines: readonly string[],
  ask: (pipeline: string) => Promise<Answer>,
): Promise<Map<string, Answer>> {
  const answers = [...new Set(pipelines)].map(async (name) => [name, await ask(name)] as const);
  return new Map(await Promise.all(answers));
}
