import type { Config } from '../../config.js';
import { nameIn } from '../../core/installation.js';
import type { Pipeline } from '../../core/pipeline.js';
import { type ScheduleRow, schedulesOf } from '../../core/schedules.js';
import { scheduledJobsOf } from './jobs.js';
import { pipelinesOf } from './pipelines.js';

/** Every schedule of the installation that the settings describe, with the installation's own queues. */
export function scheduleRowsOf(
  config: Config,
  pipelines: Readonly<Record<string, Pipeline>> = pipelinesOf(config),
): ScheduleRow[] {
  return schedulesOf(pipelines, scheduledJobsOf(config), config.schedules).map((row) => {
    const taskQueue = nameIn(config.installation, row.taskQueue);
    if (row.workflow === 'sweep') return { ...row, taskQueue };
    return { ...row, taskQueue, input: { ...row.input, queue: nameIn(config.installation, row.input.queue) } };
  });
}
