import { beforeEach, describe, expect, it } from 'vitest';
import { inTransaction } from '../../../../src/db/postgres/client.js';
import { removeBatch } from '../../../../src/db/recovery/retention.js';
import { type SubmissionKept, submissionKeeps } from '../../../../src/domains/submission/db/keeps.js';
import { findFiles, keepContent } from '../../../../src/domains/submission/db/skill-contents.js';
import { findSubmission, saveJudgement } from '../../../../src/domains/submission/db/submissions.js';
import { holdLock } from '../../../support/barrier.js';
import { fetched, publish, skillOf, submitted } from '../support/skills.js';
import { useSpine } from '../../../support/spine.js';

const spine = useSpine();
const OLD = 91;
const DAY_MS = 86_400_000;
const KEPT: SubmissionKept = { kept: { skillContentsMs: 90 * DAY_MS, discoveredPackagesMs: 90 * DAY_MS } };

beforeEach(async () => {
  await spine.pool.query(
    'TRUNCATE items, submissions, skill_contents, judgements, skills, discovered_packages RESTART IDENTITY CASCADE',
  );
});

async function retain(name: string, rows = 2): Promise<number> {
  const part = submissionKeeps.find((each) => each.name === name);
  if (!part) throw new RangeError(`no part '${name}' of retention`);
  let total = 0;
  for (;;) {
    const count = await removeBatch(spine.limited, part, part.keptMs(KEPT), rows);
    total += count;
    if (count < rows) return total;
  }
}

let made = 0;

/** A submission with content of its own, fetched long ago. */
async function withContent(ended: { daysAgo: number } | null): Promise<{ id: string; hash: string }> {
  made += 1;
  const skill = skillOf(`Content ${String(made)}.`);
  const id = await fetched(spine.pool, { repoUrl: `https://github.com/ada/r${String(made)}` }, skill);
  await age(skill.contentHash);
  if (ended) await end(id, ended.daysAgo);
  return { id, hash: skill.contentHash };
}

async function age(hash: string): Promise<void> {
  await spine.pool.query(`UPDATE skill_contents SET fetched_at = now() - $2 * interval '1 day' WHERE hash = $1`, [
    hash,
    OLD,
  ]);
}

async function end(id: string, daysAgo: number): Promise<void> {
  await spine.pool.query(
    `UPDATE items SET state = 'REJECTED', ended_at = now() - $2 * interval '1 day' WHERE id = $1`,
    [id, daysAgo],
  );
}

async function isKept(hash: string): Promise<boolean> {
  return (await findFiles(spine.pool, hash)) !== null;
}

describe('the content of submissions', () => {
  it('is deleted, with its files, when all that had it ended long ago', async () => {
    const gone = [];
    for (let n = 0; n < 5; n += 1) gone.push(await withContent({ daysAgo: OLD }));
    expect(await retain('skillContents')).toBe(5);
    for (const { hash } of gone) expect(await isKept(hash)).toBe(false);
    const { rows } = await spine.pool.query('SELECT 1 FROM skill_files');
    expect(rows).toEqual([]);
    expect(await findSubmission(spine.pool, gone[0]?.id ?? '')).toMatchObject({ contentHash: gone[0]?.hash });
  });

  it('stays while a submission lives or ended lately, and as long as it is published', async () => {
    const kept = [await withContent(null), await withContent({ daysAgo: OLD - 2 })];
    const published = await withContent(null);
    await publish(spine.pool, published.id);
    await end(published.id, OLD);
    const shared = await withContent({ daysAgo: OLD });
    const again = await submitted(spine.pool);
    await spine.pool.query('UPDATE submissions SET content_hash = $2 WHERE id = $1', [again, shared.hash]);

    expect(await retain('skillContents')).toBe(0);
    for (const { hash } of [...kept, published, shared]) expect(await isKept(hash)).toBe(true);
  });

  it('stays when it was fetched lately, though nothing has it yet', async () => {
    const { id, hash } = await withContent({ daysAgo: OLD });
    await spine.pool.query('DELETE FROM items WHERE id = $1', [id]);
    await spine.pool.query('UPDATE skill_contents SET fetched_at = now()');
    expect(await retain('skillContents')).toBe(0);
    expect(await isKept(hash)).toBe(true);
  });

  it('is whole for a submission that fetches it again while it is being deleted', async () => {
    const { hash } = await withContent({ daysAgo: OLD });
    const skill = skillOf(`Content ${String(made)}.`);
    const next = await submitted(spine.pool);
    const deleting = await spine.pool.connect();
    await deleting.query('BEGIN');
    await deleting.query('DELETE FROM skill_contents WHERE hash = $1', [hash]);
    const barrier = await holdLock(spine, 'SELECT 1');
    const keeping = await barrier.start((pool) => inTransaction(pool, (sql) => keepContent(sql, next, skill)));
    await deleting.query('COMMIT');
    deleting.release();
    await barrier.release();
    await keeping.result;
    expect(await isKept(hash)).toBe(true);
  });

  it('is not deleted under a submission that has just fetched it again', async () => {
    const { hash } = await withContent({ daysAgo: OLD });
    const next = await submitted(spine.pool);
    await inTransaction(spine.pool, async (sql) => {
      await keepContent(sql, next, skillOf(`Content ${String(made)}.`));
      expect(await retain('skillContents')).toBe(0);
    });
    expect(await retain('skillContents')).toBe(0);
    expect(await isKept(hash)).toBe(true);
  });

  it('takes no judgement with it that others may still need', async () => {
    const [gone, lives] = [await withContent({ daysAgo: OLD }), await withContent(null)];
    for (const { hash } of [gone, lives]) {
      await spine.pool.query(
        `INSERT INTO judgements (content_hash, judge, judgement, judged_at) VALUES ($1, 'j', '{}', now() - interval '91 days')`,
        [hash],
      );
    }
    expect(await retain('judgements')).toBe(0);
    await retain('skillContents');
    expect(await retain('judgements')).toBe(1);
    const { rows } = await spine.pool.query('SELECT content_hash AS hash FROM judgements');
    expect(rows).toEqual([{ hash: lives.hash }]);
  });
});

describe('a package version that discovery examined', () => {
  it('is forgotten when it is old and there is a newer version, which stays however old', async () => {
    for (const [name, version, days] of [
      ...([
        ['a', '1.0.0', 300],
        ['a', '1.1.0', 200],
        ['a', '2.0.0', 100],
      ] as const),
      ...([
        ['b', '1.0.0', 89],
        ['b', '1.0.1', 1],
        ['c', '1.0.0', 400],
      ] as const),
    ]) {
      await spine.pool.query(
        `INSERT INTO discovered_packages (name, version, outcome, found_at) VALUES ($1, $2, 'no_skill', now() - $3 * interval '1 day')`,
        [name, version, days],
      );
    }
    expect(await retain('discoveredPackages')).toBe(2);
    const { rows } = await spine.pool.query<{ each: string }>(
      `SELECT name || ' ' || version AS each FROM discovered_packages ORDER BY 1`,
    );
    expect(rows.map(({ each }) => each)).toEqual(['a 2.0.0', 'b 1.0.0', 'b 1.0.1', 'c 1.0.0']);
  });
});

describe('a submission that fetches anew', () => {
  const judgement = { score: 90, model: 'm', criteria: {}, limits: [], concerns: [], privileges: [] };

  it('forgets what was found in other content, and keeps what was found in the same', async () => {
    const first = skillOf('First.');
    const id = await fetched(spine.pool, {}, first);
    await spine.pool.query(`UPDATE submissions SET tier1 = '{"verdict": "pass", "findings": []}' WHERE id = $1`, [id]);
    const save = saveJudgement(id, 'key', judgement as never);
    if (typeof save !== 'function') throw new Error('a judgement is saved in a transaction');
    await inTransaction(spine.pool, save);

    await inTransaction(spine.pool, (sql) => keepContent(sql, id, first));
    expect(await findSubmission(spine.pool, id)).toMatchObject({ tier1: { verdict: 'pass' }, tier2: { score: 90 } });
    await inTransaction(spine.pool, (sql) => keepContent(sql, id, skillOf('Second.')));
    expect(await findSubmission(spine.pool, id)).toMatchObject({ tier1: null, tier2: null });
  });
});
