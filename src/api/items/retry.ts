import type { FastifyBaseLogger } from 'fastify';
import { diagnose, type Diagnosis } from '../../core/diagnosis.js';
import { AppError } from '../../core/errors.js';
import { retryDecision } from '../../core/retry.js';
import { engineFactsOf, type RunLook } from '../../core/run-look.js';
import { assertRetryState, type Changed, type Request, rescueItem, retryItem } from '../../db/spine/control.js';
import { findItemView, type ItemView } from '../../db/reads/item-view.js';
import { runStartOf } from '../../db/spine/items.js';
import { lookAtRun } from './ask-engine.js';
import { diagnosisOf } from './item-answer.js';
import { pipelineOf, type ReaderDeps } from './item-reader.js';
import { noSuchItem } from '../http/permissions.js';
import { startRun, tellEngine } from './tell-engine.js';

/** Drives an item on where it stands, or anew from a state. */
export async function retry(
  deps: ReaderDeps,
  log: FastifyBaseLogger,
  request: Request & { from?: string | undefined },
): Promise<void> {
  const { from, ...asked } = request;
  const find = (name: string) => pipelineOf(deps, name);
  const view = await findItemView(deps.prisma, asked.itemId);
  if (!view) throw noSuchItem(asked.itemId);
  if (from !== undefined && !view.item.endedAt) assertRetryState(find(view.item.pipeline), from);
  // An item that lives is left alone, even if a person wants it to begin anew: impatience would run it twice.
  const stopped = view.item.endedAt ? null : await diagnoseStopped(deps, view);
  if (from !== undefined || stopped === null) {
    await follow(deps, log, view, await retryItem(deps.pool, find, { ...asked, ...(from && { from }) }));
  } else {
    await rescueSeen(deps, log, asked, { view, stopped });
  }
}

/** Drives a live item on where it stands, and never opens an item that has ended. */
export async function driveOn(deps: ReaderDeps, log: FastifyBaseLogger, asked: Request): Promise<void> {
  const view = await findItemView(deps.prisma, asked.itemId);
  if (!view) throw noSuchItem(asked.itemId);
  if (view.item.endedAt) throw new AppError('state_conflict', `item ${asked.itemId} has ended in ${view.item.state}`);
  await rescueSeen(deps, log, asked, { view, stopped: await diagnoseStopped(deps, view) });
}

async function rescueSeen(
  deps: ReaderDeps,
  log: FastifyBaseLogger,
  asked: Request,
  { view, stopped: { reason, sentence } }: { view: ItemView; stopped: Diagnosis },
): Promise<void> {
  const find = (name: string) => pipelineOf(deps, name);
  const rescue = { ...asked, seen: view.item.epoch, cause: { reason, sentence, seenAt: view.now } };
  await follow(deps, log, view, await rescueItem(deps.pool, find, rescue));
}

/** The reason why the item does not move, for its receipt. Throws while the item lives. The engine is asked only if the
 *  row does not know, and only then does it matter that the engine does not answer. */
async function diagnoseStopped(deps: ReaderDeps, view: ItemView): Promise<Diagnosis> {
  const { item } = view;
  const facts = { ...view, pipeline: pipelineOf(deps, item.pipeline) };
  let look: RunLook | undefined;
  let decision = retryDecision(facts);
  if (decision === 'ask') {
    look = await lookAtRun(deps.engine, { pipeline: item.pipeline, itemId: item.id, epoch: item.epoch });
    decision = retryDecision(facts, look);
  }
  if (decision === 'ask') {
    throw new AppError('engine_unavailable', `Temporal does not answer, and only it knows whether ${item.id} is alive`);
  }
  const diagnosis = diagnose({ ...facts, ...(look && engineFactsOf(look)) });
  if (decision === 'rescue') return diagnosis;
  throw new AppError('still_alive', `item ${item.id} is not stuck: ${diagnosis.sentence} ${diagnosis.nextAction}`, {
    facts: { state: item.state, version: item.version, diagnosis: diagnosisOf(diagnosis) },
  });
}

/** Starts the new run and ends the old run. Both are best effort: the dispatcher starts runs that are not started, and
 *  a run of an earlier epoch ends by itself when it next reads the row. */
async function follow(deps: ReaderDeps, log: FastifyBaseLogger, { item }: ItemView, changed: Changed): Promise<void> {
  const { pipeline, itemId } = changed;
  await startRun(deps, log, runStartOf(pipelineOf(deps, pipeline), changed));
  await tellEngine(log, () => deps.engine.end({ pipeline, itemId, epoch: item.epoch }));
}
