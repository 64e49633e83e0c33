import type { StageInput } from '../core/run.js';
import type { Claimed, ReleasedWhy } from '../db/spine/attempt.js';
import type { JsonObject } from '../ports/stage.js';
import type { Settled } from './settle.js';

/** What a process that runs one stage and nothing else is told: the granted claim, as data. */
export interface IsolatedWork {
  pipeline: string;
  input: StageInput;
  claimed: Claimed;
}

/** What the process says to its worker. `begun`: from now on its death is the fault of the stage. `failed`: the database refused the
 *  commit, which is nobody's death. The process ends after `settled` and `failed`. */
export type Report =
  | { said: 'begun' }
  | { said: 'beat'; progress: JsonObject | undefined }
  | { said: 'settled'; settled: Settled }
  | { said: 'failed'; message: string };

/** Why the process is asked to stop. Superseded: it must write nothing. */
export type StopWhy = ReleasedWhy | 'superseded';

/** The worker's side of the process. */
export interface IsolatedProcess {
  onReport(listen: (report: Report) => void): void;
  askToStop(why: StopWhy): void;
  kill(): void;
  /** Resolves when the process is gone, with its end in words, such as `was ended by SIGKILL`. */
  ended: Promise<string>;
}

/** The worker's side of all such processes. */
export interface Isolation {
  /** How many of them may run at once. */
  places: number;
  start(work: IsolatedWork): IsolatedProcess;
}

/** The side of the process itself. */
export interface WorkerLink {
  report(report: Report): void;
  onStop(stop: (why: StopWhy) => void): void;
}
