/** A workflow task that a worker could not do. */
export interface FailedTask {
  itemId: string;
  worker: string;
  message: string;
  /** Whether its run goes the new way. */
  isMarked: boolean;
}

export interface Refusals {
  /** The version that was put in the place of the old one. */
  next: string;
  tasks: readonly FailedTask[];
  /** Of each worker that ever registered. */
  builds: ReadonlyMap<string, string>;
  /** Items whose run a sweep reported as wedged. */
  wedged: readonly string[];
}

const NON_DETERMINISM = /non-?determinis/i;

/** While both versions are there, an old worker is handed runs that the new version began, and refuses them: they go on where the
 *  new one takes them, and may be reported until then. Everything else that fails a workflow task, or is reported, is a fault. */
export function wedgedFindings({ next, tasks, builds, wedged }: Refusals): string[] {
  const isOfOld = ({ worker }: FailedTask): boolean => builds.has(worker) && builds.get(worker) !== next;
  const isRefusal = (task: FailedTask): boolean => isOfOld(task) && task.isMarked && NON_DETERMINISM.test(task.message);
  const refused = new Set(tasks.filter(isRefusal).map(({ itemId }) => itemId));
  return [
    ...tasks.flatMap((task) => (isRefusal(task) ? [] : [sentenceOf(task, builds.get(task.worker))])),
    ...wedged.flatMap((id) => (refused.has(id) ? [] : [`${id} was reported as wedged, and no old worker refused it`])),
  ];
}

function sentenceOf({ itemId, worker, message, isMarked }: FailedTask, build = 'unknown'): string {
  const run = isMarked ? 'new' : 'old';
  return `${worker} of build ${build} failed a workflow task of ${itemId}, which goes the ${run} way: ${message}`;
}
