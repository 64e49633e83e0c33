import { isEnd, rowOf } from '../core/machine.js';
import type { Pipeline } from '../core/pipeline.js';
import { type Parameters, storableJson } from './parameters.js';

/** Raises the event that tells whomever the table says of the end, as one more part of the statement that makes the move: both are
 *  there or neither. Once for each visit, for an item that is opened again ends again. */
export function toldOfEnd(pipeline: Pipeline, { to, trigger }: { to: string; trigger: string }, p: Parameters): string {
  const { tells } = pipeline;
  if (!tells || !isEnd(rowOf(pipeline, to))) return '';
  return `, told AS (
      INSERT INTO outbox (id, kind, pipeline, item_id, mail_to, sentence, payload)
      SELECT concat_ws(':', 'item_ended', moved.id, moved.visit), 'item_ended', ${p.add(pipeline.name)}, moved.id,
        concerned.${tells.column}, ${p.add(`It ended in ${to} (${trigger}).`)}, ${p.add(storableJson({ state: to, trigger }))}::jsonb
      FROM moved JOIN ${tells.table} concerned ON concerned.id = moved.id WHERE concerned.${tells.column} IS NOT NULL
      ON CONFLICT DO NOTHING
    )`;
}
