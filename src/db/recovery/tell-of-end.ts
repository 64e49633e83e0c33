import { isEnd, rowOf } from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';
import { type Parameters, storableJson, storableText } from '../postgres/parameters.js';
import type { ItemError } from '../spine/transition.js';

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

/** Longest part of an error that operators are sent; all that is kept of it is with the item. */
const MAX_ERROR = 300;

/** Raises the event that tells operators of a run that ends because its stage has failed for good, and of an item that recovery has
 *  to take on: one more part of the statement that ends the attempt. Once for each run. */
export function toldOfFailedRun(run: FailedRun, p: Parameters): string {
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
