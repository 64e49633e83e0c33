import { WORKER_SILENT_SECONDS } from '../../../../core/presence-verdict.js';
import { StartError } from '../../../../start/embedded/start-error.js';
import type { DrillDatabase, WorkerSeen } from './drill-database.js';
import type { RoundKind } from './verdict.js';
import { isFrozen, isWorkerProcess } from './worker-process.js';

/** Of a worker on another machine; one of ours can be looked at. */
const SILENT_MS = WORKER_SILENT_SECONDS * 1_000;

/** The workers that are there. A drill needs one to strike and one that takes over. */
export async function assembleCrew(database: DrillDatabase, kind: RoundKind, host: string): Promise<WorkerSeen[]> {
  const known = await database.listWorkers();
  // A pid that was used before is the latest's: the registry lists that one first.
  const latest = known.filter((each, at) => known.findIndex((one) => isSameProcess(one, each)) === at);
  const crew = latest.filter((each) => (each.host === host ? isThere(each.pid) : each.silentForMs < SILENT_MS));
  assertEnough(crew);
  const elsewhere = crew.find((each) => each.host !== host);
  if (kind !== 'kill' && elsewhere) {
    throw new StartError(
      `drill: ${elsewhere.name} runs on ${elsewhere.host}, where a frozen process can't be woken from here. ` +
        'Stop it for the drill, or run the drill where all workers are.',
    );
  }
  return crew;
}

function assertEnough(crew: WorkerSeen[]): void {
  const [only] = crew;
  if (!only) {
    throw new StartError(
      'drill: no worker that serves canaries is there. Start all with npm start, or workers with npm run worker.',
    );
  }
  if (crew.length === 1) {
    throw new StartError(
      `drill: ${only.name} (pid ${only.pid}) is the only worker, and nobody could take over from it. ` +
        'Start another with npm run worker, set WORKERS to 2 or more, or wake one that is frozen.',
    );
  }
}

function isSameProcess(one: WorkerSeen, other: WorkerSeen): boolean {
  return one.host === other.host && one.pid === other.pid;
}

function isThere(pid: number): boolean {
  return isWorkerProcess(pid) && !isFrozen(pid);
}
