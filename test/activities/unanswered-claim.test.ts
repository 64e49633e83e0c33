import { randomUUID } from 'node:crypto';
import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, it } from 'vitest';
import { claimIdOf, leaveUnanswered } from '../../src/activities/unanswered-claim.js';

/** What the attempt leaves for those that come after it. */
async function leftBy(attempt: number, claimId: string): Promise<unknown> {
  const environment = new MockActivityEnvironment({ attempt });
  let left: unknown;
  environment.on('heartbeat', (details: unknown) => {
    left = details;
  });
  await environment.run(() => Promise.resolve(leaveUnanswered(claimId)));
  return left;
}

function claimIdIn(info: { attempt: number; heartbeatDetails?: unknown }): Promise<string> {
  return new MockActivityEnvironment(info).run(() => Promise.resolve(claimIdOf()));
}

describe('the id of a claim', () => {
  it('is that of the attempt before, where it was given no answer', async () => {
    const claimId = randomUUID();

    expect(await claimIdIn({ attempt: 4, heartbeatDetails: await leftBy(3, claimId) })).toBe(claimId);
  });

  it('is a new one for every later attempt: the one between may have begun, and died before it could beat', async () => {
    const claimId = randomUUID();

    expect(await claimIdIn({ attempt: 5, heartbeatDetails: await leftBy(3, claimId) })).not.toBe(claimId);
  });

  it.each([undefined, null, 'half', 17, { page: 3 }])(
    'is a new one where the attempt before left %j',
    async (details) => {
      const ids = await Promise.all([1, 2].map(() => claimIdIn({ attempt: 2, heartbeatDetails: details })));

      expect(new Set(ids).size).toBe(2);
    },
  );
});
