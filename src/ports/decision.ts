import type { AwaitingOf, DecisionOf, Pipeline } from '../core/pipeline.js';
import type { Sql } from './sql.js';
import type { JsonObject } from './stage.js';

/** Writes the effect of a decision, in the transaction that makes its move. Returns the facts for the audit entry. */
export type DecisionSave = (transaction: Sql, itemId: string) => Promise<JsonObject>;

/** The effects of one pipeline, by state and outcome. The compiler refuses a state or an outcome that the table does
 *  not have. */
export type DecisionSaves<P extends Pipeline> = {
  readonly [State in AwaitingOf<P>]?: { readonly [Outcome in DecisionOf<P, State>]?: DecisionSave };
};

/** The effects of any pipeline, by state and outcome. */
export type AnyDecisionSaves = Readonly<Record<string, Readonly<Record<string, DecisionSave>>>>;
