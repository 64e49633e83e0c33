import { z } from 'zod';
import { AppError } from '../../core/errors.js';
import type { ScheduleRow } from '../../core/schedules.js';
import { type JobExecution, listLatestJobs } from '../../db/recovery/job-executions.js';
import { recordOperatorAction } from '../../db/spine/operator-actions.js';
import type { Schedules, ScheduleStatus } from '../../ports/schedules.js';
import { callerOf } from '../http/access.js';
import type { ApiDeps, App } from '../parts.js';
import type { Caller } from '../http/auth.js';
import { actorOf } from '../http/permissions.js';
import { problems } from '../http/problem.js';
import { ScheduleAnswer, SchedulesAnswer } from './schedule-schema.js';
import { textUpTo } from '../http/text-up-to.js';

const TAGS = ['schedules'];

const Params = z.object({ id: textUpTo(100) });

const ReasonBody = z.strictObject({ reason: textUpTo(2_000).optional() });

type Deps = Pick<ApiDeps, 'pool' | 'schedules'>;

const ACTIONS = {
  trigger: 'Start a run now; it is skipped when one goes on',
  abort: 'Abort the run that goes on; the next begins as scheduled',
  pause: 'Pause a schedule: it starts no runs until it is resumed',
  resume: 'Resume a paused schedule',
} as const;
type Action = keyof typeof ACTIONS;

export function addScheduleRoutes(app: App, deps: Deps): void {
  app.get(
    '/api/v1/schedules',
    {
      config: { access: ['viewer', 'admin'] },
      schema: {
        tags: TAGS,
        summary: 'Every schedule: when it runs, what it did last, whether it is paused',
        response: { 200: SchedulesAnswer, ...problems() },
      },
    },
    async () => {
      const { rows } = deps.schedules;
      const asked = await Promise.all(rows.map(async (row) => ({ row, status: await statusOf(deps.schedules, row) })));
      const jobs = await listLatestJobs(
        deps.pool,
        rows.map(({ id }) => id),
      );
      return {
        degraded: asked.some(({ status }) => status === 'unknown'),
        schedules: asked.map(({ row, status }) => answerOf(row, status, jobs)),
      };
    },
  );

  for (const [action, summary] of Object.entries(ACTIONS) as [Action, string][]) {
    app.post(
      `/api/v1/schedules/:id/${action}`,
      {
        config: { access: ['admin'] },
        schema: {
          tags: TAGS,
          summary,
          params: Params,
          body: ReasonBody,
          response: {
            200: ScheduleAnswer,
            ...problems(404, 413, 415, ...(action === 'trigger' ? [409 as const] : [])),
          },
        },
      },
      async (request) => {
        const row = rowOf(deps.schedules, request.params.id);
        if (action === 'trigger') assertOn(row);
        await act(deps, { row, action, caller: callerOf(request), reason: request.body.reason });
        const [status, jobs] = [await statusOf(deps.schedules, row), await listLatestJobs(deps.pool, [row.id])];
        return answerOf(row, status, jobs);
      },
    );
  }
}

function rowOf({ rows }: Schedules, id: string): ScheduleRow {
  const row = rows.find((each) => each.id === id);
  if (!row)
    throw new AppError('not_found', `there is no schedule ${id}; there are ${rows.map((r) => r.id).join(', ')}`);
  return row;
}

/** Temporal may know the schedule from a time when it was on, and would start a run that nobody has configured. */
function assertOn({ id, isOn }: ScheduleRow): void {
  if (isOn) return;
  throw new AppError(
    'switched_off',
    `the schedule ${id} is switched off: remove it from SCHEDULES_OFF, or set the variables that its job needs, and start the API again`,
  );
}

interface Asked {
  row: ScheduleRow;
  action: Action;
  caller: Caller;
  reason: string | undefined;
}

/** The audit entry is written before Temporal is asked, so that nothing is done without an entry. A failure gets an
 *  entry as well. */
async function act({ pool, schedules }: Deps, { row, action, caller, reason }: Asked): Promise<void> {
  const entry = { target: `schedule:${row.id}`, actor: actorOf(caller), reason };
  await recordOperatorAction(pool, { ...entry, action });
  try {
    if (action === 'trigger' || action === 'abort') await schedules[action](row.id);
    else await schedules[action](row.id, `${caller.sub}: ${reason ?? 'no reason given'}`);
  } catch (error) {
    await recordOperatorAction(pool, { ...entry, action: `${action}-failed` });
    throw error;
  }
}

/** `unknown`: Temporal does not answer. Null: it does, and has no such schedule. */
async function statusOf(schedules: Schedules, { id }: ScheduleRow): Promise<ScheduleStatus | null | 'unknown'> {
  return schedules.find(id).catch(() => 'unknown' as const);
}

function answerOf(
  row: ScheduleRow,
  status: ScheduleStatus | null | 'unknown',
  jobs: readonly JobExecution[],
): ScheduleAnswer {
  const job = jobs.find((each) => each.job === row.id);
  return {
    id: row.id,
    ...('every' in row.when ? { every: row.when.every } : { dailyAt: row.when.dailyAt }),
    workflow: row.workflow,
    taskQueue: row.taskQueue,
    runTimeoutMs: row.runTimeoutMs,
    on: row.isOn,
    inTemporal: status === 'unknown' ? null : status !== null,
    state: status === 'unknown' || status === null ? null : stateOf(status),
    lastExecution: job ? executionOf(job) : null,
  };
}

function stateOf({ createdAt: _, nextAt, lastAt, ...status }: ScheduleStatus): ScheduleAnswer['state'] {
  return { ...status, nextAt: nextAt?.toISOString() ?? null, lastAt: lastAt?.toISOString() ?? null };
}

function executionOf({ job: _, startedAt, endedAt, ...execution }: JobExecution): ScheduleAnswer['lastExecution'] {
  return { ...execution, startedAt: startedAt.toISOString(), endedAt: endedAt?.toISOString() ?? null };
}
