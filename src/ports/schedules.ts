import type { ScheduleRow } from '../core/schedules.js';

/** A schedule as the engine knows it. */
export interface ScheduleStatus {
  nextAt: Date | null;
  /** When it last started a run, asked for by hand or not. */
  lastAt: Date | null;
  /** The workflow ids of its runs that go on now. */
  running: string[];
  /** Null: it is not paused. */
  paused: { why: string | null } | null;
  /** Runs that the schedule started; runs that it left out because the run before went on; runs that came due while the
   *  engine was away. */
  actions: number;
  skipped: number;
  missed: number;
  createdAt: Date;
}

/** The engine's schedules. Calls fail with AppError `engine_unavailable` while it is away, and with `not_found` when there is
 *  no schedule of that id. */
export interface Schedules {
  /** As declared in code. */
  rows: readonly ScheduleRow[];
  /** Null: the engine does not have it. */
  find(id: string): Promise<ScheduleStatus | null>;
  /** Starts a run now. While a run goes on, no run is started and the call counts as skipped. */
  trigger(id: string): Promise<void>;
  /** Asks the runs that go on to end. */
  abort(id: string): Promise<void>;
  pause(id: string, why: string): Promise<void>;
  resume(id: string, why: string): Promise<void>;
}
