import type { Client } from '@temporalio/client';
import { until } from '../support/until.js';

/** What Temporal knows of the beats of one item's running stage. */
export interface Beats {
  /** When the next one arrived, by Temporal's clock, which is this machine's. */
  next(): Promise<number>;
}

export function beatsOf(client: Client, itemId: string): Beats {
  const handle = client.workflow.getHandle(`canary:${itemId}:1`);
  let last = 0;

  async function latest(): Promise<number> {
    const { raw } = await handle.describe();
    const at = raw.pendingActivities?.[0]?.lastHeartbeatTime;
    return at ? Number(at.seconds ?? 0) * 1_000 + (at.nanos ?? 0) / 1_000_000 : 0;
  }
  return {
    async next() {
      last ||= await latest();
      last = await until(`${itemId} beats`, async () => {
        const at = await latest();
        return at > last ? at : null;
      });
      return last;
    },
  };
}
