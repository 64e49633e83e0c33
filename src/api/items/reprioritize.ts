import type { FastifyBaseLogger } from 'fastify';
import { z } from 'zod';
import { reprioritizeItem, type Request } from '../../db/spine/control.js';
import { runStartOf } from '../../db/spine/items.js';
import { textUpTo } from '../http/text-up-to.js';
import type { Engine } from '../../ports/engine.js';
import { giveUpAfter } from './engine-health.js';
import { pipelineOf, type ReaderDeps } from './item-reader.js';
import { startRun, tellEngine } from './tell-engine.js';

const Priority = z
  .int()
  .min(-1_000)
  .max(1_000)
  .describe(
    'Its level: 100 or more, 1 to 99, 0 (the default), -1 to -99, -100 or less. A level waits while a higher one has work; ' +
      'within a level the owners take turns, whatever the exact number is',
  );

/** The caller waits no longer than this for Temporal. */
const PATIENCE_MS = 3_000;

export const PriorityBody = z.strictObject({ priority: Priority, reason: textUpTo(2_000).optional() });

/** Gives an item another priority. The start and the end are best effort: the dispatcher starts runs that are not started, and a run of
 *  an earlier epoch ends by itself when it next reads the row. */
export async function reprioritize(
  deps: ReaderDeps,
  log: FastifyBaseLogger,
  request: Request & { priority: number },
): Promise<void> {
  const heedsPriorities = await doesHeedPriorities(deps.engine, log);
  const changed = await reprioritizeItem(deps.pool, (name) => pipelineOf(deps, name), { ...request, heedsPriorities });
  if (!changed.restarted) return;
  const run = runStartOf(pipelineOf(deps, changed.pipeline), changed);
  await startRun(deps, log, run);
  const former = { ...run, epoch: run.epoch - 1 };
  const end = () => deps.engine.terminate(former, 'it has another priority');
  await tellEngine(log, end, 'the former run ends at its next claim, or a sweep ends it');
}

/** Where Temporal knows no priorities, a new run would stand behind everything that waits. Where it does not answer, the item gets its new
 *  run: a run that keeps its old level would be worse on most servers. */
async function doesHeedPriorities(engine: Engine, log: FastifyBaseLogger): Promise<boolean> {
  try {
    return await giveUpAfter(PATIENCE_MS, engine.heedsPriorities());
  } catch (error) {
    log.warn({ err: error }, 'Temporal does not say whether it knows priorities; the item gets a new run');
    return true;
  }
}
