import { isEnd, rowOf } from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';
import { type Parameters, storableJson, storableText } from '../postgres/parameters.js';
import type { ItemError, Move } from '../spine/transition.js';

/** Raises the event that tells the person named by the table's `tells` of the item's end. It is part of the statement
 *  that makes the move, so both are stored or neither is. It is raised once for each visit, because a reopened item
 *  ends again. */
export function tellOfEnd(pipeline: Pipeline, move: TellingMove, p: Parameters): string {
  const { tells } = pipeline;
  const row = rowOf(pipeline, move.to);
  if (!tells || !isEnd(row)) return '';
  if (tells.owner) {
    const isTold = row.ends === 'failed' && move.via !== 'cancel';
    return isTold ? tellOwner(pipeline.name, { ...tells, facts: tells.owner.facts }, move, p) : '';
  }
  const { to, trigger } = move;
  return `, told AS (
      INSERT INTO outbox (id, kind, pipeline, item_id, mail_to, sentence, payload)
      SELECT concat_ws(':', 'item_ended', moved.id, moved.visit), 'item_ended', ${p.add(pipeline.name)}, moved.id,
        concerned.${tells.column}, ${p.add(`It ended in ${to} (${trigger}).`)}, ${p.add(storableJson({ state: to, trigger }))}::jsonb
      FROM moved JOIN ${tells.table} concerned ON concerned.id = moved.id WHERE concerned.${tells.column} IS NOT NULL
      ON CONFLICT DO NOTHING
    )`;
}

type TellingMove = Pick<Move, 'to' | 'trigger' | 'via' | 'reason' | 'error'>;

interface OwnerTells {
  table: string;
  column: string;
  facts: Readonly<Record<string, string>>;
}

/** The owner is told whether there is an address or not: without one, the event goes the ways that need none. */
function tellOwner(pipeline: string, tells: OwnerTells, move: TellingMove, p: Parameters): string {
  const { to, trigger } = move;
  const reason = storableText(move.error?.message ?? move.reason ?? trigger).slice(0, MAX_ERROR);
  const payload = p.add(storableJson({ state: to, trigger, reason }));
  const facts = Object.entries(tells.facts).map(([name, column]) => `${p.add(name)}::text, concerned.${column}`);
  return `, told AS (
      INSERT INTO outbox (id, kind, pipeline, item_id, owner, mail_to, sentence, payload)
      SELECT concat_ws(':', 'item_ended', moved.id, moved.visit), 'item_ended', ${p.add(pipeline)}, moved.id, moved.owner,
        concerned.${tells.column}, ${p.add(`It failed for good: ${reason}`)}, ${payload}::jsonb || jsonb_build_object(${facts.join(', ')})
      FROM moved JOIN ${tells.table} concerned ON concerned.id = moved.id
      ON CONFLICT DO NOTHING
    )`;
}

/** Operators are sent this much of an error message; the item keeps more of it. */
const MAX_ERROR = 300;

/** Raises the event that tells operators, once for each run, that the run ends because its stage has failed for good
 *  and that recovery takes the item on. It is part of the statement that ends the attempt. */
export function tellOfFailedRun(run: FailedRun, p: Parameters): string {
  const { pipeline, epoch, error } = run;
  const { class: errorClass, stage, message } = error;
  const sentence = `Its run ended because ${stage} failed and is not tried again (${errorClass}: ${message.slice(0, MAX_ERROR)}). Recovery takes over.`;
  return `told AS (
      INSERT INTO outbox (id, kind, pipeline, item_id, sentence, payload)
      SELECT concat_ws(':', 'run_failed', guard.item_id, ${p.add(epoch)}::int), 'run_failed', ${p.add(pipeline)}, guard.item_id,
        ${p.add(storableText(sentence))}, ${p.add(storableJson({ stage, errorClass }))}::jsonb FROM guard
      ON CONFLICT DO NOTHING
    )`;
}

interface FailedRun {
  pipeline: string;
  epoch: number;
  error: ItemError;
}
