import type { Client } from '@temporalio/client';
import { withTemporal } from '../audit/runs.js';
import { until } from '../support/until.js';

/** A schedule of Temporal and the run that it starts. */
export interface Scheduled {
  id: string;
  workflow: string;
  taskQueue: string;
  args: unknown[];
}

/** A schedule as the API of a version tells of it. */
interface Told {
  id: string;
  on: boolean;
  workflow: string;
  taskQueue: string;
  lastExecution: { status: string; endedAt: string | null; errors: string[] } | null;
}

export interface SchedulesApi {
  url: string;
  token: string;
}

/** An API makes its schedules anew every 30 s; a job takes a second or two, on a busy machine some more. */
const RECONCILED_WITHIN_MS = 90_000;
const ENDED_WITHIN_MS = 60_000;

/** The schedules that an API wants, as soon as Temporal has all of them as that API says. */
export async function whenReconciled(address: string, api: SchedulesApi): Promise<Scheduled[]> {
  return withTemporal(address, async (client) => {
    const wanted = (await listTold(api)).filter(({ on }) => on);
    return until(
      'Temporal has the schedules of the API',
      async () => {
        const there = new Map((await listScheduled(client)).map((each) => [each.id, each]));
        const found = wanted.map(({ id }) => there.get(id));
        const areRight = found.every((each, at) => {
          return each?.workflow === wanted[at]?.workflow && each?.taskQueue === wanted[at]?.taskQueue;
        });
        return areRight ? (found as Scheduled[]) : null;
      },
      RECONCILED_WITHIN_MS,
    );
  });
}

async function listScheduled(client: Client): Promise<Scheduled[]> {
  const found: Scheduled[] = [];
  for await (const { scheduleId } of client.schedule.list()) {
    const { action } = await client.schedule.getHandle(scheduleId).describe();
    const { workflowType: workflow, taskQueue } = action;
    found.push({ id: scheduleId, workflow, taskQueue, args: (action.args as unknown[] | undefined) ?? [] });
  }
  return found;
}

/** Starts the runs that the old version's schedules would start, and says of each that does not end well. A schedule may have
 *  started such a run a moment before the old workers stopped, so the new ones must know it. */
export async function runAsBefore(address: string, before: readonly Scheduled[]): Promise<string[]> {
  return withTemporal(address, async (client) => {
    const findings = before.map(async ({ id, workflow, taskQueue, args }) => {
      const workflowId = `as-before-${id}`;
      const limits = { workflowExecutionTimeout: ENDED_WITHIN_MS, workflowTaskTimeout: 3_000 };
      await client.workflow.start(workflow, { workflowId, taskQueue, args, ...limits });
      return client.workflow
        .getHandle(workflowId)
        .result()
        .then(
          () => [],
          (error: unknown) => [`the old run of ${id} (${workflow}) did not end: ${sentenceOf(error)}`],
        );
    });
    return (await Promise.all(findings)).flat();
  });
}

/** Lets each schedule of the API run once, and says of each whose run does not end well. */
export async function runNow(api: SchedulesApi, schedules: readonly Scheduled[]): Promise<string[]> {
  const findings = schedules.map(async ({ id }) => {
    const since = Date.now();
    try {
      await ask(api, `/api/v1/schedules/${id}/trigger`, { reason: 'to see that it runs after the upgrade' });
      const { status, errors } = await until(`the schedule ${id} has run`, () => endedSince(api, id, since));
      return status === 'completed' ? [] : [`the run of the schedule ${id} ${status}: ${errors.join('; ')}`];
    } catch (error) {
      const told = (await listTold(api)).find((each) => each.id === id);
      return [`the schedule ${id} did not run: ${sentenceOf(error)}; the API says ${JSON.stringify(told)}`];
    }
  });
  return (await Promise.all(findings)).flat();
}

async function endedSince(api: SchedulesApi, id: string, since: number) {
  const last = (await listTold(api)).find((each) => each.id === id)?.lastExecution;
  return last?.endedAt && Date.parse(last.endedAt) >= since ? last : null;
}

async function listTold(api: SchedulesApi): Promise<Told[]> {
  return ((await ask(api, '/api/v1/schedules')) as { schedules: Told[] }).schedules;
}

async function ask({ url, token }: SchedulesApi, path: string, body?: object): Promise<unknown> {
  const response = await fetch(`${url}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  if (!response.ok) throw new Error(`${path} was answered ${response.status}: ${await response.text()}`);
  return response.json();
}

function sentenceOf(error: unknown): string {
  const { message, cause } = error instanceof Error ? error : new Error(String(error));
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}
