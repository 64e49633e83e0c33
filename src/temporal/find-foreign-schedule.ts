import type { Client, ScheduleDescription } from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';
import { type ForeignSchedule, installationIn, isForeign, nameIn } from '../core/installation.js';
import { callUnlessAway } from './engine.js';
import { callUnlessMissing, DESCRIBE_LIMIT_MS } from './schedules.js';

/** A schedule that does not exist, or whose action carries no id because an older version wrote it. It tells nothing about the names. */
class NamesNobody extends Error {}

/** Looks whether another installation has written the schedules under our names. The id stands in the memo of a schedule's action. The
 *  first schedule that names an installation decides, because one schedule that does not answer must not keep a process waiting. */
export async function findForeignSchedule(
  client: Client,
  ids: readonly string[],
  own: { id: string; name: string },
): Promise<ForeignSchedule | null> {
  async function look(id: string): Promise<ForeignSchedule | null> {
    const schedule = client.schedule.getHandle(nameIn(own.name, id));
    const there = await callUnlessMissing(() => schedule.describe()).catch(ignoreMissingNamespace);
    if (!there || installationIn(there.action.memo) === undefined) throw new NamesNobody();
    return foreignScheduleOf(there, own.id);
  }
  return callUnlessAway(client, DESCRIBE_LIMIT_MS, () => Promise.any(ids.map(look)).catch(ignoreNobody));
}

/** If no schedule names an installation, the names are free, but only if every schedule has answered. */
function ignoreNobody(error: unknown): null {
  const failures: unknown[] = error instanceof AggregateError ? error.errors : [error];
  const failed = failures.find((each) => !(each instanceof NamesNobody));
  if (failed !== undefined) throw new Error('a schedule did not answer', { cause: failed });
  return null;
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
