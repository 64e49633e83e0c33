import { StartError } from '../../../../start/embedded/start-error.js';
import type { RowsSeen, WorkerSeen } from './drill-database.js';
import type { RoundDeps } from './round.js';
import { mustSee } from './look-until.js';
import type { RoundKind, Struck } from './verdict.js';
import { isFrozen, strike } from './worker-process.js';

interface Target {
  crew: WorkerSeen[];
  /** The canaries as they were just before the strike. */
  rows: RowsSeen[];
}

type Strike = (deps: RoundDeps, target: Target) => Promise<Struck>;

/** How each kind of round puts a worker out of action. The result says which worker, and when. */
export const STRIKES: Readonly<Record<RoundKind, Strike>> = {
  kill: (deps, target) => strikeBusiest(deps, target, 'SIGKILL'),
  freeze: (deps, target) => strikeBusiest(deps, target, 'SIGSTOP'),
  freezeInCommit: awaitFrozen,
};

/** The clock is read just before the signal, so that no measured time is too short. */
async function strikeBusiest({ database, host }: RoundDeps, target: Target, signal: NodeJS.Signals): Promise<Struck> {
  const ours = target.crew.filter((each) => each.host === host);
  const worker = busiestOf(ours, target.rows);
  const struckAt = await database.now();
  strike(worker.pid, signal);
  return { worker, struckAt };
}

function busiestOf(crew: WorkerSeen[], rows: RowsSeen[]): WorkerSeen {
  const running = rows.flatMap(({ attempts }) => attempts.filter(({ result }) => result === 'running'));
  const load = (worker: WorkerSeen): number => running.filter((attempt) => attempt.worker === worker.id).length;
  const [busiest] = crew.toSorted((one, other) => load(other) - load(one));
  if (busiest && load(busiest) > 0) return busiest;
  throw new StartError(
    'drill: none of the canaries runs on a worker of this machine. Run the drill where the workers are.',
  );
}

/** The first canary was told to freeze its process after its effect was written and before the commit. */
async function awaitFrozen(deps: RoundDeps, { crew }: Target): Promise<Struck> {
  const wait = { withinMs: deps.options.stageMs + deps.patienceMs, everyMs: 25, signal: deps.signal };
  const sentence =
    'drill: no worker froze in its commit, as the canary was told to. The installation may be overloaded.';
  const worker = await mustSee(wait, sentence, () => crew.find(({ pid }) => isFrozen(pid)) ?? null);
  return { worker, struckAt: await deps.database.now() };
}
