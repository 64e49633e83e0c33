import { WORKER_SILENT_SECONDS } from '../../../../core/worker-silence.js';
import { StartError } from '../../../../start/embedded/start-error.js';
import type { WorkerSeen } from './drill-database.js';
import { lookUntil } from './look-until.js';
import type { RoundDeps } from './round.js';
import type { RoundKind } from './verdict.js';
import { isFrozen, isWorkerProcess } from './worker-process.js';

/** A worker of another machine that was silent for this long counts as gone. A worker of this machine is looked at
 *  directly. */
const SILENT_MS = WORKER_SILENT_SECONDS * 1_000;

/** Between two looks at the registry. A worker takes seconds to start. */
const LOOK_EVERY_MS = 250;

type CrewDeps = Pick<RoundDeps, 'database' | 'host' | 'patienceMs' | 'say' | 'signal'>;

/** The workers that are running. A drill needs one worker to strike and another to take over. */
export async function assembleCrew(deps: CrewDeps, kind: RoundKind): Promise<WorkerSeen[]> {
  const crew = await awaitSecondWorker(deps, await listCrew(deps));
  assertEnough(crew);
  const elsewhere = crew.find((each) => each.host !== deps.host);
  if (kind !== 'kill' && elsewhere) {
    throw new StartError(
      `drill: ${elsewhere.name} runs on ${elsewhere.host}, where a frozen process can't be woken from here. ` +
        'Stop it for the drill, or run the drill where all workers are.',
    );
  }
  return crew;
}

async function listCrew({ database, host }: CrewDeps): Promise<WorkerSeen[]> {
  const known = await database.listWorkers();
  // Two workers may have had the same pid. The registry lists the latest worker first, and only the latest can be running.
  const latest = known.filter((each, at) => known.findIndex((one) => isSameProcess(one, each)) === at);
  return latest.filter((each) => (each.host === host ? isRunning(each.pid) : each.silentForMs < SILENT_MS));
}

/** The worker that an earlier drill killed may still be starting again, so a lone worker is not refused at once. */
async function awaitSecondWorker(deps: CrewDeps, crew: WorkerSeen[]): Promise<WorkerSeen[]> {
  const [only] = crew;
  if (!only || crew.length > 1) return crew;
  const { patienceMs, say, signal } = deps;
  say(`${only.name} (pid ${only.pid}) is the only worker; waiting up to ${patienceMs / 1_000} s for another to start`);
  const wait = { withinMs: patienceMs, everyMs: LOOK_EVERY_MS, signal };
  const joined = await lookUntil(wait, async () => {
    const present = await listCrew(deps);
    return present.length > 1 ? present : null;
  });
  return joined ?? crew;
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

function isRunning(pid: number): boolean {
  return isWorkerProcess(pid) && !isFrozen(pid);
}
