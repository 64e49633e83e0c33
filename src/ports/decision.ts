import type { AwaitingOf, DecisionOf, Pipeline } from '../core/pipeline.js';
import type { Sql } from './sql.js';
import type { JsonObject } from './stage.js';

/** What a decision brings about besides its move, in the transaction that makes it; returns what the audit entry says of it. */
export type DecisionSave = (transaction: Sql, itemId: string) => Promise<JsonObject>;

/** Of one pipeline, by state and outcome; the compiler refuses a word that its table does not have. */
export type DecisionSaves<P extends Pipeline> = {
  readonly [State in AwaitingOf<P>]?: { readonly [Outcome in DecisionOf<P, State>]?: DecisionSave };
};

/** By state and outcome, of whatever pipeline. */
export type AnyDecisionSaves = Readonly<Record<string, Readonly<Record<string, DecisionSave>>>>;
