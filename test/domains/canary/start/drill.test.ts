import { hostname } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDrillApi } from '../../../../src/domains/canary/start/drill/drill-api.js';
import { createDrillDatabase } from '../../../../src/domains/canary/start/drill/drill-database.js';
import { LIMITS } from '../../../../src/domains/canary/start/drill/limits.js';
import { runRound } from '../../../../src/domains/canary/start/drill/round.js';
import { roundVerdict } from '../../../../src/domains/canary/start/drill/verdict.js';
import { isFrozen } from '../../../../src/domains/canary/start/drill/worker-process.js';
import { until } from '../../../support/until.js';
import { type Parts, startParts } from '../../../start/parts.js';
import { runChild } from '../../../start/run-child.js';

/** A drill lasts as long as its canaries and the timeouts of Temporal that it waits for. */
const TIMEOUT_MS = 120_000;

let parts: Parts;
beforeAll(async () => {
  parts = await startParts({ workers: 2 });
}, 90_000);
afterAll(() => parts.stop());

function runDrill(args: string[], settings: Record<string, string> = {}) {
  return runChild('src/domains/canary/start/drill.ts', args, { env: { ...parts.settings, ...settings } });
}

function lastLineOf(output: string): unknown {
  return JSON.parse(output.trimEnd().split('\n').at(-1) ?? '');
}

async function pidsOfWorkers(): Promise<number[]> {
  const { rows } = await parts.pool.query<{ pid: number }>('SELECT pid FROM workers WHERE stopped_at IS NULL');
  return rows.map(({ pid }) => pid);
}

describe('npm run drill', () => {
  it('kills a worker and proves that nothing was lost or done twice', { timeout: TIMEOUT_MS }, async () => {
    const drill = runDrill(['--items', '2', '--stage-ms', '1500']);

    expect(await drill.exited, drill.output()).toBe(0);
    expect(drill.output()).toMatch(/^ok: nothing lost, nothing twice, nothing stuck/m);
    const figures = lastLineOf(drill.output());
    expect(figures).toMatchObject({
      ok: true,
      items: 2,
      stageMs: 1500,
      problems: [],
      rounds: [{ kind: 'kill', finishedStagesRunAgain: 0, effectsDoubled: 0, effectsMissing: 0, notDone: 0 }],
    });
    const { rows } = await parts.pool.query<{ stage: string; effects: number }>(
      'SELECT stage, count(*)::int AS effects FROM canary_effects GROUP BY item_id, stage ORDER BY stage, item_id',
    );
    const stages = ['first', 'first', 'second', 'second', 'third', 'third'];
    expect(rows).toEqual(stages.map((stage) => ({ stage, effects: 1 })));
  });

  it(
    'wakes a worker that froze in its commit, whose late commit is refused and counted',
    { timeout: TIMEOUT_MS },
    async () => {
      const seen = await runRound(
        {
          api: createDrillApi(parts.url, parts.token),
          database: createDrillDatabase(parts.pool),
          options: { items: 1, stageMs: 500 },
          host: hostname(),
          patienceMs: 60_000,
          say: () => undefined,
          signal: new AbortController().signal,
        },
        'freezeInCommit',
      );

      const verdict = roundVerdict(seen, LIMITS);
      expect(verdict.problems).toEqual([]);
      expect(verdict.items).toMatchObject([{ isHit: true, refused: 1, doubled: [], runAgain: ['second'] }]);
      expect(isFrozen(seen.worker.pid)).toBe(false);
    },
  );

  it('wakes what it froze and cancels its canaries when it is interrupted', { timeout: TIMEOUT_MS }, async () => {
    const drill = runDrill(['--freeze', '--items', '1', '--stage-ms', '4000']);
    await until('a worker is frozen', async () => (await pidsOfWorkers()).some(isFrozen));
    drill.child.kill('SIGINT');

    expect(await drill.exited).toBe(1);
    expect(drill.output()).toContain('drill: interrupted; its canaries are cancelled.');
    expect((await pidsOfWorkers()).filter(isFrozen)).toEqual([]);
    const { rows } = await parts.pool.query(`SELECT state FROM items WHERE ended_at IS NULL`);
    expect(rows).toEqual([]);
  });

  it('leaves no worker frozen behind when it is killed itself', { timeout: TIMEOUT_MS }, async () => {
    const drill = runDrill(['--freeze', '--items', '1', '--stage-ms', '1500']);
    await until('a worker is frozen', async () => (await pidsOfWorkers()).some(isFrozen));
    await drill.killHard();

    await until('it is awake again', async () => !(await pidsOfWorkers()).some(isFrozen));
  });

  it.each<[string, string[], RegExp]>([
    ['the API does not answer', ['--url', 'http://127.0.0.1:9'], /nothing answers at http:\/\/127\.0\.0\.1:9\. Start/],
    ['the token is refused', ['--token', 'not-a-token'], /refused the token: the token is not valid/],
    ['a flag is wrong', ['--items', 'many'], /--items takes a whole number from 1 to 100, not 'many'/],
  ])('says what to do when %s', { timeout: TIMEOUT_MS }, async (_, args, sentence) => {
    const drill = runDrill(args);

    expect(await drill.exited).toBe(1);
    expect(drill.output()).toMatch(sentence);
    expect(lastLineOf(drill.output())).toMatchObject({ ok: false });
  });
});
