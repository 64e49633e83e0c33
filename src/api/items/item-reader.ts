import { diagnose, type Facts, type Reason } from '../../core/diagnosis.js';
import { AppError } from '../../core/errors.js';
import type { Pipeline } from '../../core/pipeline.js';
import { findItemHead, findItemView, type ItemHead, type ItemView } from '../../db/reads/item-view.js';
import type { ApiDeps, ApiParts } from '../parts.js';
import { askEngine, askIfUnswept, isSilent, SWEPT } from './ask-engine.js';
import type { Caller } from '../http/auth.js';
import { itemAnswer } from './item-answer.js';
import type { ItemAnswer } from './item-schema.js';
import { maySee, noSuchItem } from '../http/permissions.js';

export type ReaderDeps = Pick<
  ApiParts,
  'pool' | 'prisma' | 'engine' | 'pipelines' | 'schedules' | 'temporalUi' | 'engineHealth'
>;

/** Reasons that only Temporal can confirm or refute. The row knows the other reasons for certain. */
const IN_DOUBT: readonly Reason[] = ['backlog', 'start_lost', 'silent_worker', 'worker_died', 'retrying', ...SWEPT];

/** The whole answer to a caller who may see the item. */
export async function answerFor(deps: ReaderDeps, caller: Caller, id: string): Promise<ItemAnswer> {
  const [view, isEngineThere] = await Promise.all([findItemView(deps.prisma, id), deps.engineHealth.isThere()]);
  if (!view || !maySee(caller, view.item)) throw noSuchItem(id);
  const pipeline = deps.pipelines[view.item.pipeline];
  const said = await askAbout(deps, view, isEngineThere);
  return itemAnswer(view, { pipeline, said, isEngineThere, temporalUi: deps.temporalUi });
}

/** The facts of a diagnosis that are not in the rows. They are asked for only if the rows leave the diagnosis in
 *  doubt. */
export async function askAbout(deps: ReaderDeps, view: ItemView, isEngineThere: boolean): Promise<Partial<Facts>> {
  const pipeline = deps.pipelines[view.item.pipeline];
  const said = isEngineThere ? await askIfInDoubt(deps, view, pipeline) : ({ engine: 'unknown' } as const);
  const unswept = SWEPT.includes(diagnose({ ...view, pipeline, ...said }).reason)
    ? await askIfUnswept(deps.schedules, view.item.pipeline)
    : {};
  return { ...said, ...unswept };
}

/** The common case costs no call: Temporal is not asked about an item that runs, waits for a person or has ended. */
async function askIfInDoubt(deps: ReaderDeps, view: ItemView, pipeline: Pipeline | undefined): Promise<Partial<Facts>> {
  const { item } = view;
  if (item.endedAt || !isSilent(view)) return {};
  if (!IN_DOUBT.includes(diagnose({ ...view, pipeline }).reason)) return {};
  return askEngine(deps, { pipeline: item.pipeline, itemId: item.id, epoch: item.epoch });
}

/** The few facts of an item that decide who may act on it. The caller may see the item. */
export async function findVisible(deps: Pick<ApiDeps, 'prisma'>, caller: Caller, id: string): Promise<ItemHead> {
  const head = await findItemHead(deps.prisma, id);
  if (!head || !maySee(caller, head)) throw noSuchItem(id);
  return head;
}

export function pipelineOf({ pipelines }: Pick<ApiDeps, 'pipelines'>, name: string): Pipeline {
  const pipeline = Object.hasOwn(pipelines, name) ? pipelines[name] : undefined;
  if (!pipeline) throw new AppError('state_conflict', `this version of the program does not know the pipeline ${name}`);
  return pipeline;
}
