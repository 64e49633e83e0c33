import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import { createDiscoveryPage, discoverPage } from '../../../../../src/domains/submission/activities/jobs/discovery.js';
import { submitFound } from '../../../../../src/domains/submission/db/submit-found.js';
import { submission } from '../../../../../src/domains/submission/table.js';
import { auditOf } from '../../../../support/facts.js';
import { turnPages } from '../../../../support/job-pages.js';
import { useSpine } from '../../../../support/spine.js';
import { BROKEN, busyFor, createFakeSources, type FakeSources, packageOf, repositoryOf } from './sources.js';

const spine = useSpine();
const RULES = { address: { hosts: ['github.com'], allowPrivate: false, allowLocal: false }, vendors: ['openai'] };
const { signal } = new AbortController();

let sources: FakeSources;
beforeEach(async () => {
  sources = createFakeSources();
  await spine.pool.query('TRUNCATE items, submissions, discovered_packages, source_waits CASCADE');
});

function discoveryDeps(submit = submitFound(submission, RULES)) {
  const { packages, host } = sources;
  return { pool: spine.limited, packages, host, submit, logger: pino({ level: 'silent' }) };
}

function discover({ budget = 10, from = 0, stop = signal, submit = submitFound(submission, RULES) } = {}) {
  return discoverPage(
    discoveryDeps(submit),
    { keyword: 'skill', from, budget },
    { signal: stop, beat: () => undefined },
  );
}

/** So many packages, each with a skill at the root of its repository. */
function offer(count: number): void {
  sources.found = Array.from({ length: count }, (_, n) => packageOf(`skill-${String(n)}`));
  for (const { name } of sources.found) sources.folders[repositoryOf(name)] = [''];
}

async function submitted() {
  const { rows } = await spine.pool.query<{ id: string; name: string; path: string; priority: number; owner: string }>(
    `SELECT i.id, s.skill_name AS name, s.skill_path AS path, i.priority, i.owner
     FROM submissions s JOIN items i USING (id) ORDER BY s.skill_name`,
  );
  return rows;
}

async function outcomeOf(name: string, version = '1.0.0'): Promise<string | undefined> {
  const { rows } = await spine.pool.query<{ outcome: string }>(
    'SELECT outcome FROM discovered_packages WHERE name = $1 AND version = $2',
    [name, version],
  );
  return rows[0]?.outcome;
}

describe('discovery', () => {
  it('submits the skills of a package’s repository, behind everything that somebody waits for', async () => {
    sources.found = [packageOf('tools')];
    sources.folders[repositoryOf('tools')] = ['', 'skills/pdf'];

    expect(await discover()).toMatchObject({
      seen: 1,
      examined: 1,
      submitted: 2,
      byOutcome: { submitted: 1 },
      next: null,
    });

    const rows = await submitted();
    expect(rows).toMatchObject([
      { name: 'pdf', path: 'skills/pdf', priority: -10, owner: 'unstuck:discovery' },
      { name: 'tools', path: '', priority: -10 },
    ]);
    expect(await auditOf(spine.pool, rows[0]?.id ?? '')).toMatchObject([
      { to: 'RECEIVED', trigger: 'npm-discovery', actor: 'system' },
    ]);
  });

  it('submits the same version once, however often it runs, and a new one again', async () => {
    offer(1);
    await discover();
    expect(await discover()).toMatchObject({ seen: 1, examined: 0, submitted: 0 });
    expect(await submitted()).toHaveLength(1);
    await spine.pool.query(`UPDATE items SET ended_at = now(), state = 'PUBLISHED'`);
    sources.found = [packageOf('skill-0', '1.0.1')];
    expect(await discover()).toMatchObject({ examined: 1, submitted: 1 });
  });

  it('keeps that a skill was on its way already', async () => {
    offer(1);
    await discover();
    sources.found = [packageOf('skill-0', '1.0.1')];
    expect(await discover()).toMatchObject({ submitted: 0, byOutcome: { known: 1 } });
    expect(await outcomeOf('skill-0', '1.0.1')).toBe('known');
    expect(await outcomeOf('skill-0')).toBe('submitted');
  });

  it('submits once what two runs find at the same time', async () => {
    offer(8);
    const pages = await Promise.all([discover(), discover(), discover()]);
    expect(pages.reduce((sum, page) => sum + page.submitted, 0)).toBe(8);
    expect(await submitted()).toHaveLength(8);
  });

  it('submits the skills of a repository in the order of their keys, as a bulk does, so that neither waits for the other', async () => {
    sources.found = [packageOf('tools')];
    sources.folders[repositoryOf('tools')] = ['zip', 'Pdf', 'skills/audio', 'more/skills/mail'];
    const names: string[] = [];
    const submit: ReturnType<typeof submitFound> = (_, { skillName }) => {
      names.push(skillName);
      return Promise.resolve('submitted');
    };

    await discover({ submit });
    expect(names).toEqual(['audio', 'mail', 'Pdf', 'zip']);
  });

  it('examines no more than it may, and goes on where it stopped', async () => {
    offer(5);
    expect(await discover({ budget: 2 })).toMatchObject({ examined: 2, next: 0 });
    expect(await discover({ budget: 2 })).toMatchObject({ examined: 2, next: 0 });
    expect(await discover({ budget: 2 })).toMatchObject({ examined: 1, next: null });
    expect(sources.asked.filter((each) => each.startsWith('folders'))).toHaveLength(5);
  });

  it('looks once at what holds no skill, has no repository, or may not be submitted', async () => {
    sources.found = [
      packageOf('empty'),
      packageOf('gone'),
      { ...packageOf('far'), repository: 'https://gitlab.com/a/b' },
    ];
    sources.found.push({ ...packageOf('bare'), repository: null }, packageOf('odd'));
    sources.folders = { [repositoryOf('empty')]: [], [repositoryOf('odd')]: ['skills/-no name-'] };

    expect(await discover()).toMatchObject({
      examined: 5,
      submitted: 0,
      byOutcome: { no_skill: 2, no_repository: 2, refused: 1 },
    });
    expect(await outcomeOf('odd')).toBe('refused');
    expect(await discover()).toMatchObject({ examined: 0 });
    expect(await submitted()).toEqual([]);
  });

  it('goes on past a repository that can’t be read, and tries it again a day later', async () => {
    offer(3);
    sources.folders[repositoryOf('skill-1')] = BROKEN;

    expect(await discover()).toMatchObject({
      examined: 3,
      submitted: 2,
      byOutcome: { submitted: 2, unreachable: 1 },
      errors: ['skill-1: github answered 500'],
    });
    expect(await discover()).toMatchObject({ examined: 0 });
    sources.folders[repositoryOf('skill-1')] = [''];
    await spine.pool.query(`UPDATE discovered_packages SET found_at = now() - interval '25 hours'`);
    expect(await discover()).toMatchObject({ examined: 1, submitted: 1 });
  });

  it.each([
    ['the registry', () => (sources.failure = busyFor(120))],
    ['the host', () => (sources.folders[repositoryOf('skill-1')] = busyFor(120))],
  ])('leaves %s alone for as long as it asks', async (_, makeBusy) => {
    offer(3);
    makeBusy();
    const page = await discover();
    expect(page).toMatchObject({ next: null, errors: [expect.stringMatching(/left alone for 120 s/) as string] });
    const asked = sources.asked.length;
    sources.failure = null;
    offer(3);
    expect(await discover()).toMatchObject({ errors: [expect.stringMatching(/left alone until/) as string] });
    expect(sources.asked.length - asked).toBeLessThanOrEqual(1);

    await spine.pool.query(`UPDATE source_waits SET until = now() - interval '1 second'`);
    await discover();
    expect(await submitted()).toHaveLength(3);
  });

  it('says so when the registry can’t be read, and leaves all as it is', async () => {
    sources.failure = BROKEN;
    expect(await discover()).toMatchObject({ seen: 0, next: null, errors: ['github answered 500'] });
  });
});

describe('a run of discovery', () => {
  const input = { keyword: 'skill', perRun: 7 };

  function run(told: Partial<Parameters<typeof turnPages>[1]> = {}) {
    return turnPages(createDiscoveryPage(discoveryDeps()), { input, ...told });
  }

  it('examines no more than it may, and adds up what its pages did', async () => {
    offer(20);
    const { record, last } = await run();
    expect(record.counts).toMatchObject({ examined: 7, submitted: 7, byOutcome: { submitted: 7 } });
    expect([record.pages, last.isWhole, record.isIdle]).toEqual([2, false, false]);
  });

  it('keeps to what its pace allows', async () => {
    offer(20);
    const { record } = await run({ atMost: 2 });
    expect([record.pages, record.counts['examined']]).toEqual([4, 7]);
  });

  it('is whole when nothing is left, and has found nothing when all was examined before', async () => {
    offer(3);
    expect((await run()).last.isWhole).toBe(true);
    expect((await run()).record).toMatchObject({ isIdle: true, counts: { seen: 3, examined: 0 } });
  });

  it('is not whole when a server asked to be left alone', async () => {
    offer(3);
    sources.folders[repositoryOf('skill-1')] = busyFor(120);
    expect((await run()).last.isWhole).toBe(false);
  });

  it('that goes on where another stopped may examine as many as that one', async () => {
    offer(20);
    const page = createDiscoveryPage(discoveryDeps());
    const context = { input, atMost: null, deadline: new Date(), signal, beat: () => undefined };
    const first = await page({ ...context, startedAt: new Date(1), cursor: null });
    if (!('next' in first)) throw new Error('it was the last page');

    const { record } = await run({ startedAt: new Date(2), cursor: first.next });
    expect([first.counts['examined'], record.counts['examined']]).toEqual([5, 7]);
  });

  it('ends, though the registry shows the same page for ever', async () => {
    sources.packages.search = async (_, from) => {
      sources.asked.push('search');
      return { packages: [], next: from };
    };
    const { record, last } = await run();
    expect([record.pages, sources.asked.length, last.isWhole]).toEqual([30, 30, false]);
  });
});
