import { v7 as uuidv7 } from 'uuid';
import { beforeEach, describe, expect, it } from 'vitest';
import { createEnrichmentPage, enrichPage } from '../../../../../src/domains/submission/activities/jobs/enrichment.js';
import type { JobCursor } from '../../../../../src/core/jobs.js';
import { turnPages } from '../../../../support/job-pages.js';
import { useSpine } from '../../../../support/spine.js';
import { BROKEN, busyFor, createFakeSources, type FakeSources, repositoryOf } from './sources.js';

const spine = useSpine();
const { signal } = new AbortController();
const PUSHED = new Date('2026-11-01T10:00:00Z');

let sources: FakeSources;
beforeEach(async () => {
  sources = createFakeSources();
  await spine.pool.query('TRUNCATE skills, skill_facts, discovered_packages, source_waits CASCADE');
});

async function publish(name: string): Promise<void> {
  sources.facts[repositoryOf(name)] = { stars: 7, lastCommitAt: PUSHED };
  await spine.pool.query('INSERT INTO skills (id, name, repo_url, skill_name) VALUES ($1, $2, $3, $2)', [
    uuidv7(),
    name,
    repositoryOf(name),
  ]);
}

async function packaged(name: string, repository: string): Promise<void> {
  await spine.pool.query(
    `INSERT INTO discovered_packages (name, version, repo_url, outcome) VALUES ($1, '1.0.0', $2, 'submitted')`,
    [name, repositoryOf(repository)],
  );
}

function enrich(budget = 10) {
  const { packages, host } = sources;
  const startedAt = new Date(Date.now() + 60_000).toISOString();
  return enrichPage({ pool: spine.limited, packages, host }, { startedAt, budget }, { signal, beat: () => undefined });
}

async function factsOf(name: string) {
  const { rows } = await spine.pool.query<object>(
    `SELECT stars, downloads::float8 AS downloads, last_commit_at AS "lastCommitAt", error FROM skill_facts f JOIN skills s ON s.id = f.skill_id
     WHERE s.name = $1`,
    [name],
  );
  return rows[0];
}

describe('enrichment', () => {
  it('keeps stars, downloads of all its packages, and the last commit of a skill', async () => {
    await publish('pdf');
    await packaged('@ada/pdf', 'pdf');
    await packaged('pdf-skill', 'pdf');
    sources.downloads = { '@ada/pdf': 40, 'pdf-skill': 2 };

    expect(await enrich()).toEqual({ examined: 1, known: 1, errors: [], isLast: true, isStopped: false });
    expect(await factsOf('pdf')).toEqual({ stars: 7, downloads: 42, lastCommitAt: PUSHED, error: null });
  });

  it('keeps more downloads than an integer of four bytes holds', async () => {
    await publish('pdf');
    await packaged('pdf-skill', 'pdf');
    sources.downloads = { 'pdf-skill': 3_000_000_000 };
    expect(await enrich()).toMatchObject({ known: 1, errors: [] });
    expect(await factsOf('pdf')).toMatchObject({ downloads: 3_000_000_000 });
  });

  it('says nothing of what it does not know: no package, no repository', async () => {
    await publish('pdf');
    await publish('gone');
    sources.facts[repositoryOf('gone')] = null;
    await enrich();
    expect(await factsOf('pdf')).toMatchObject({ stars: 7, downloads: null });
    expect(await factsOf('gone')).toEqual({ stars: null, downloads: null, lastCommitAt: null, error: null });
  });

  it('keeps what was known when a skill can’t be asked about, says why, and goes on with the others', async () => {
    await publish('a');
    await publish('b');
    await enrich();
    sources.facts[repositoryOf('a')] = BROKEN;
    sources.facts[repositoryOf('b')] = { stars: 8, lastCommitAt: null };
    expect(await enrich()).toMatchObject({
      examined: 2,
      known: 1,
      errors: [`${repositoryOf('a')}: github answered 500`],
    });
    expect(await factsOf('a')).toMatchObject({ stars: 7, error: 'github answered 500' });
    expect(await factsOf('b')).toMatchObject({ stars: 8, error: null });
  });

  it('asks about those first that were asked about longest ago, no more than it may', async () => {
    for (const name of ['a', 'b', 'c']) await publish(name);
    expect(await enrich(2)).toMatchObject({ examined: 2, isLast: false });
    const first = sources.asked.splice(0).length;
    await enrich(1);
    expect([first, sources.asked]).toEqual([2, [`facts ${repositoryOf('c')}`]]);
  });

  it('stops when it is asked to leave the host alone, and the skill in hand stays the next', async () => {
    await publish('a');
    await publish('b');
    sources.facts[repositoryOf('a')] = busyFor(60);
    expect(await enrich()).toMatchObject({
      examined: 0,
      isStopped: true,
      errors: [expect.stringMatching(/60 s/) as string],
    });
    expect(sources.asked).toEqual([`facts ${repositoryOf('a')}`]);
    expect(await factsOf('a')).toBeUndefined();
  });
});

describe('a run of enrichment', () => {
  function run(perRun: number, cursor: JobCursor = null) {
    const { packages, host } = sources;
    const page = createEnrichmentPage({ pool: spine.limited, packages, host });
    return turnPages(page, { input: { perRun }, startedAt: new Date(), cursor });
  }

  it('turns pages until no skill is left that was not asked about since the run began', async () => {
    for (let n = 0; n < 8; n += 1) await publish(`skill-${n}`);
    const { record, last } = await run(20);
    expect(record).toMatchObject({ pages: 2, counts: { examined: 8, known: 8 } });
    expect(last.isWhole).toBe(true);
  });

  it('asks about no more skills than it may', async () => {
    for (let n = 0; n < 8; n += 1) await publish(`skill-${n}`);
    const { record, last } = await run(6);
    expect([record.counts['examined'], last.isWhole]).toEqual([6, false]);
  });

  it('is not whole when a server asked to be left alone', async () => {
    await publish('a');
    sources.facts[repositoryOf('a')] = busyFor(60);
    expect((await run(6)).last.isWhole).toBe(false);
  });

  it('that goes on where another stopped may ask about as many as that one', async () => {
    for (let n = 0; n < 8; n += 1) await publish(`skill-${n}`);
    const { record } = await run(6, { run: 'before', examined: 5 });
    expect(record.counts['examined']).toBe(6);
  });

  it('has found nothing where no skill is published', async () => {
    expect(await run(6)).toMatchObject({ record: { pages: 1, isIdle: true }, last: { isWhole: true } });
  });
});
