import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, it } from 'vitest';
import { findUnansweredClaim, leaveUnansweredClaim } from '../../src/activities/unanswered-claim.js';

/** The note that an attempt leaves for the next attempts. */
async function leftBy(info: { attempt: number; isLocal?: boolean }): Promise<unknown> {
  const environment = new MockActivityEnvironment(info);
  let left: unknown;
  environment.on('heartbeat', (details: unknown) => {
    left = details;
  });
  await environment.run(() => Promise.resolve(leaveUnansweredClaim('the claim')));
  return left;
}

function foundIn(info: { attempt: number; heartbeatDetails: unknown }): Promise<string | undefined> {
  return new MockActivityEnvironment(info).run(() => Promise.resolve(findUnansweredClaim()));
}

describe('a claim without an answer', () => {
  it('is found by the next attempt', async () => {
    expect(await foundIn({ attempt: 4, heartbeatDetails: await leftBy({ attempt: 3 }) })).toBe('the claim');
  });

  it('is found by no later one: the attempt between may have begun, and died before it could beat', async () => {
    expect(await foundIn({ attempt: 5, heartbeatDetails: await leftBy({ attempt: 3 }) })).toBeUndefined();
  });

  it('is not left by a local activity, which has no heartbeat', async () => {
    expect(await leftBy({ attempt: 3, isLocal: true })).toBeUndefined();
  });

  it.each([undefined, null, 'half', 17, { page: 3 }])('is not found where the attempt before left %j', async (left) => {
    expect(await foundIn({ attempt: 2, heartbeatDetails: left })).toBeUndefined();
  });
});
