import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { createPool } from '../../../../src/db/postgres/client.js';
import { isTransient } from '../../../../src/db/postgres/database-fault.js';
import { submission } from '../../../../src/domains/submission/table.js';
import { holdLock } from '../../../support/barrier.js';
import { attemptsOf, itemOf, lastMetadataOf, taskOf, trailFaults } from '../../../support/facts.js';
import { startLossyProxy } from '../../../support/lossy-proxy.js';
import { approved, claimPublishing, commitPublishing, versionsOf } from '../support/publishing.js';
import { byHand, useSpine } from '../../../support/spine.js';

const spine = useSpine();

function newRepository(): string {
  return `https://github.com/${randomUUID()}/skills`;
}

async function publishAll(pool: pg.Pool, id: string, worker = 'healthy'): Promise<void> {
  await commitPublishing(pool, await claimPublishing(pool, id, worker));
}

/** One line of text more is a patch. */
function bodyOf(line: number): string {
  const lines = Array.from({ length: 20 }, (_, at) => `Line ${String(at)} is kept as it is.`);
  return ['# Use', ...lines, `The last line is number ${String(line)}.`].join('\n');
}

/** Every place at which the session of a publishing worker can be lost, by what it sends to the server there. */
const PLACES: [place: string, request: (claimId: string) => string, when: 'before' | 'answered', isWritten: boolean][] =
  [
    ['before its claim', (claimId) => claimId, 'before', false],
    ['after its claim, before the answer', (claimId) => claimId, 'answered', false],
    ['before it begins to commit', () => 'BEGIN', 'before', false],
    ['before it takes the skill', () => 'INSERT INTO skills', 'before', false],
    ['when it has the skill', () => 'FOR UPDATE', 'answered', false],
    ['before the version is written', () => 'INSERT INTO skill_versions', 'before', false],
    ['after the version is written', () => 'INSERT INTO skill_versions', 'answered', false],
    ['before the move', () => 'INSERT INTO audit', 'before', false],
    ['after the move', () => 'INSERT INTO audit', 'answered', false],
    ['before COMMIT', () => 'COMMIT', 'before', false],
    ['after COMMIT, before the answer', () => 'COMMIT', 'answered', true],
  ];

describe('a worker that is lost while it publishes', () => {
  it.each(PLACES)('%s: another one makes it one version, in its turn', async (_, request, when, isWritten) => {
    const repo = newRepository();
    const ids = [];
    for (const line of [1, 2, 3]) ids.push(await approved(spine.pool, repo, bodyOf(line)));
    const [first = '', second = '', third = ''] = ids;
    await publishAll(spine.pool, first);

    const proxy = await startLossyProxy(spine.url);
    const lost = createPool({ url: proxy.url, size: 1, name: 'lost' });
    const claimId = randomUUID();
    proxy.cut(request(claimId), when);
    const publishing = claimPublishing(lost, second, 'lost', claimId).then((claimed) =>
      commitPublishing(lost, claimed),
    );
    const failure: unknown = await publishing.catch((error: unknown) => error);
    expect(isTransient(failure)).toBe(true);
    expect(proxy.cuts()).toBe(1);
    await lost.end();
    await proxy.close();

    const claim = await byHand(spine.limited, submission).claim(second, { state: 'AUTO_APPROVED', stage: 'publish' });
    expect(claim.is).toBe(isWritten ? 'superseded' : 'run');
    if (claim.is === 'run') await commitPublishing(spine.limited, claim.claimed);
    await publishAll(spine.limited, third);

    expect(await versionsOf(spine.pool, repo)).toEqual([
      { number: 1, version: '1.0.0', submission: first },
      { number: 2, version: '1.0.1', submission: second },
      { number: 3, version: '1.0.2', submission: third },
    ]);
    expect(await itemOf(spine.pool, second)).toMatchObject({ state: 'PUBLISHED' });
    expect(await trailFaults(spine.pool, second)).toEqual([]);
    const attempts = await attemptsOf(spine.pool, second);
    expect(attempts.filter((line) => line === 'publish done')).toHaveLength(1);
  });
});

/** Where two publishers of a skill meet first: at the table if the skill is new, at its row if it is known. */
const MEETINGS: [string, boolean][] = [
  ['a new skill', false],
  ['a known skill', true],
];

describe.each(MEETINGS)('two submissions of %s that publish at the same moment', (_, isKnown) => {
  async function raceOf(bodies: readonly [string, string]) {
    const repo = newRepository();
    if (isKnown) await publishAll(spine.pool, await approved(spine.pool, repo, bodyOf(0)));
    const one = await approved(spine.pool, repo, bodies[0]);
    const two = await approved(spine.pool, repo, bodies[1]);
    const claims = [await claimPublishing(spine.pool, one, 'a'), await claimPublishing(spine.pool, two, 'b')] as const;
    const barrier = isKnown
      ? await holdLock(spine, 'SELECT 1 FROM skills WHERE repo_url = $1 FOR UPDATE', [repo])
      : await holdLock(spine, 'LOCK TABLE skills IN SHARE MODE');
    const started = [
      await barrier.start((pool) => commitPublishing(pool, claims[0])),
      await barrier.start((pool) => commitPublishing(pool, claims[1])),
    ];
    await barrier.release();
    for (const { result } of started) expect(await result).toEqual({ do: 'end', why: 'final' });
    const before = isKnown ? 1 : 0;
    return { one, two, repo, versions: (await versionsOf(spine.pool, repo)).slice(before), before };
  }

  it('get a version each, one after the other', async () => {
    const { one, two, versions, before } = await raceOf([bodyOf(1), bodyOf(2)]);
    expect(versions.map(({ number, version }) => `${String(number)} ${version}`)).toEqual(
      [0, 1].map((each) => `${String(before + each + 1)} 1.0.${String(before + each)}`),
    );
    expect(new Set(versions.map((each) => each.submission))).toEqual(new Set([one, two]));
    if (isKnown) expect(versions.map((each) => each.submission)).toEqual([one, two]);
  });

  it('share one version if their content is the same', async () => {
    const { one, two, versions } = await raceOf([bodyOf(1), bodyOf(1)]);
    expect(versions).toHaveLength(1);
    const notes = [await lastMetadataOf(spine.pool, one), await lastMetadataOf(spine.pool, two)];
    expect(notes).toMatchObject([{ version: versions[0]?.version }, { version: versions[0]?.version }]);
    expect(notes.filter((note) => (note as { unchanged?: boolean }).unchanged)).toHaveLength(1);
  });
});

describe('a submission that a second worker takes up', () => {
  async function held() {
    const repo = newRepository();
    await publishAll(spine.pool, await approved(spine.pool, repo, bodyOf(0)));
    const id = await approved(spine.pool, repo, bodyOf(1));
    const claimed = await claimPublishing(spine.pool, id, 'slow');
    const lock = () => holdLock(spine, 'SELECT 1 FROM skills WHERE repo_url = $1 FOR UPDATE', [repo]);
    return { repo, id, claimed, lock };
  }

  it('while the first still publishes it finds it published', async () => {
    const { repo, id, claimed, lock } = await held();
    const barrier = await lock();
    const slow = await barrier.start((pool) => commitPublishing(pool, claimed));
    const quick = await barrier.start((pool) =>
      byHand(pool, submission).claim(id, { state: 'AUTO_APPROVED', stage: 'publish', worker: 'quick' }),
    );
    await barrier.release();

    expect(await slow.result).toEqual({ do: 'end', why: 'final' });
    expect(await quick.result).toMatchObject({ is: 'superseded' });
    expect(await versionsOf(spine.pool, repo)).toHaveLength(2);
  });

  it('before the first could publish is published by the second alone', async () => {
    const { repo, id, claimed, lock } = await held();
    const second = await claimPublishing(spine.pool, id, 'quick');
    const barrier = await lock();
    const quick = await barrier.start((pool) => commitPublishing(pool, second));
    const slow = commitPublishing(spine.pool, claimed);
    await barrier.release();

    expect(await quick.result).toEqual({ do: 'end', why: 'final' });
    expect(await slow).toBe('superseded');
    expect(await versionsOf(spine.pool, repo)).toHaveLength(2);
    expect(await taskOf(spine.pool, id, 'publish')).toMatchObject({ status: 'done', crashes: 1 });
  });
});
