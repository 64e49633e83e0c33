import type { OutcomeOf, Pipeline, StageOf } from '../core/pipeline.js';
import type { Sql, Statement } from './sql.js';

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** The effect of a stage, written in the committing transaction. It is one statement (the fast way) or a function. A
 *  function may return more facts for the audit entry, such as a number that only the transaction knows. */
export type Save = Statement | ((transaction: Sql) => Promise<JsonObject | void>);

export interface StageContext {
  item: { id: string; pipeline: string; owner: string; visit: number };
  /** The unit of one task of a fan-out stage. '' in every other stage. */
  unit: string;
  /** How often this task was claimed, counting this time. */
  attempt: number;
  /** The value that an earlier attempt kept with `keep`. Null: no attempt kept one. */
  checkpoint: Json;
  /** Aborted when the time is up, the worker shuts down, or the item is no longer ours. */
  signal: AbortSignal;
  /** Reports that the stage itself moves on; shown to the owner. */
  progress(report: JsonObject): void;
  /** Keeps a checkpoint for the next attempt, if the database is there. A lost checkpoint does not fail the stage. Throws
   *  when this attempt has been superseded. A `save` draws its rows FROM guard like the save of a stage: its effect is stored together
   *  with the checkpoint, and both are on disk when this resolves. */
  keep(checkpoint: Json, save?: Statement): Promise<void>;
}

export interface StageResult<Outcome extends string = string> {
  outcome: Outcome;
  /** Facts for the audit entry. */
  note?: JsonObject;
  save?: Save;
  /** For the fan-out stage that follows. */
  units?: readonly string[];
}

export type AnyStage = (context: StageContext) => Promise<StageResult>;

/** A stage knows its work and nothing else. */
export type Stage<P extends Pipeline, Name extends StageOf<P>> = (
  context: StageContext,
) => Promise<StageResult<OutcomeOf<P, Name>>>;

/** All stages of a pipeline. The compiler names a missing stage. */
export type Stages<P extends Pipeline> = { [Name in StageOf<P>]: Stage<P, Name> };
