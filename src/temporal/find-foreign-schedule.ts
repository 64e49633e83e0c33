import type { Client, ScheduleDescription } from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';
import { type ForeignSchedule, installationIn, isForeign, nameIn } from '../core/installation.js';
import { callUnlessAway } from './engine.js';
import { callUnlessMissing, DESCRIBE_LIMIT_MS } from './schedules.js';

/** Looks at the schedules under our names for one that another installation has written. The id stands in the memo of a schedule's
 *  action. An action without it was written by an older version, and tells nothing. */
export async function findForeignSchedule(
  client: Client,
  ids: readonly string[],
  own: { id: string; name: string },
): Promise<ForeignSchedule | null> {
  async function look(id: string): Promise<ForeignSchedule | null> {
    const schedule = client.schedule.getHandle(nameIn(own.name, id));
    const there = await callUnlessMissing(() => schedule.describe()).catch(ignoreMissingNamespace);
    return there && foreignScheduleOf(there, own.id);
  }
  const found = await callUnlessAway(client, DESCRIBE_LIMIT_MS, () => Promise.all(ids.map(look)));
  return found.find((each) => each !== null) ?? null;
}

/** A namespace that does not exist has no schedule of anybody. The caller's next call reports that it is missing. */
function ignoreMissingNamespace(error: unknown): null {
  if (error instanceof NamespaceNotFoundError) return null;
  throw error;
}

export function foreignScheduleOf(
  { scheduleId: schedule, action }: ScheduleDescription,
  own: string | undefined,
): ForeignSchedule | null {
  const installation = installationIn(action.memo);
  return installation !== undefined && isForeign(action.memo, own) ? { schedule, installation } : null;
}
