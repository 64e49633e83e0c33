import type { Facts } from '../../core/diagnosis.js';
import { AppError } from '../../core/errors.js';
import type { Pipeline } from '../../core/pipeline.js';
import { findItemHead, findItemView, type ItemHead } from '../../db/reads/item-view.js';
import type { RowFacts } from '../../db/recovery/row-facts.js';
import type { ApiDeps, ApiParts } from '../parts.js';
import { describeRuns } from './ask-engine.js';
import type { Caller } from '../http/auth.js';
import { askAboutRows } from './diagnose-rows.js';
import { itemAnswer } from './item-answer.js';
import type { ItemAnswer } from './item-schema.js';
import { maySee, noSuchItem } from '../http/permissions.js';

export type ReaderDeps = Pick<
  ApiParts,
  'pool' | 'prisma' | 'engine' | 'pipelines' | 'schedules' | 'temporalUi' | 'engineHealth'
>;

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
export async function askAbout(deps: ReaderDeps, row: RowFacts, isEngineThere: boolean): Promise<Partial<Facts>> {
  const [said] = await askAboutRows(deps, [row], { isEngineThere, lookAtRuns: describeRuns });
  return said ?? {};
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
