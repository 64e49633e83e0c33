import { diagnose, type Facts, type Reason } from '../../core/diagnosis.js';
import { AppError } from '../../core/errors.js';
import type { Pipeline } from '../../core/pipeline.js';
import { findItemHead, findItemView, type ItemHead, type ItemView } from '../../db/reads/item-view.js';
import type { ApiDeps, ApiSettings } from '../app.js';
import { askEngine, askIfUnswept, isSilent, SWEPT } from './ask-engine.js';
import type { Caller } from '../http/auth.js';
import type { EngineHealth } from './engine-health.js';
import { itemAnswer } from './item-answer.js';
import type { ItemAnswer } from './item-schema.js';
import { maySee, noSuchItem } from '../http/permissions.js';

export type ReaderDeps = Pick<ApiDeps, 'pool' | 'prisma' | 'engine' | 'pipelines' | 'schedules'> &
  Pick<ApiSettings, 'temporalUi'> & { engineHealth: EngineHealth };

/** What only Temporal can confirm or refute; the other reasons the row knows for certain. */
const IN_DOUBT: readonly Reason[] = ['backlog', 'start_lost', 'silent_worker', 'worker_died', 'retrying', ...SWEPT];

/** The whole answer to a caller who may see the item. */
export async function answerFor(deps: ReaderDeps, caller: Caller, id: string): Promise<ItemAnswer> {
  const [view, engineIsThere] = await Promise.all([findItemView(deps.prisma, id), deps.engineHealth.isThere()]);
  if (!view || !maySee(caller, view.item)) throw noSuchItem(id);
  const pipeline = deps.pipelines[view.item.pipeline];
  const said = await askAbout(deps, view, engineIsThere);
  return itemAnswer(view, { pipeline, said, engineIsThere, temporalUi: deps.temporalUi });
}

/** What a diagnosis wants to know beside the rows, asked for as far as these leave it in doubt. */
export async function askAbout(deps: ReaderDeps, view: ItemView, engineIsThere: boolean): Promise<Partial<Facts>> {
  const pipeline = deps.pipelines[view.item.pipeline];
  const said = engineIsThere ? await askIfInDoubt(deps, view, pipeline) : ({ engine: 'unknown' } as const);
  const unswept = SWEPT.includes(diagnose({ ...view, pipeline, ...said }).reason)
    ? await askIfUnswept(deps.schedules, view.item.pipeline)
    : {};
  return { ...said, ...unswept };
}

/** The common case costs no call: an item that runs, waits for somebody or has ended is not asked about. */
async function askIfInDoubt(deps: ReaderDeps, view: ItemView, pipeline: Pipeline | undefined): Promise<Partial<Facts>> {
  const { item } = view;
  if (item.endedAt || !isSilent(view)) return {};
  if (!IN_DOUBT.includes(diagnose({ ...view, pipeline }).reason)) return {};
  return askEngine(deps, { pipeline: item.pipeline, itemId: item.id, epoch: item.epoch });
}

/** The little that who-may-do-what is decided on, of an item that the caller may see. */
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
