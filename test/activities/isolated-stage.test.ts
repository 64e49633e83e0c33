import { describe, expect, it } from 'vitest';
import type { AttemptHost } from '../../src/activities/attempt-host.js';
import { type Beats, startBeats } from '../../src/activities/beats.js';
import { runIsolated } from '../../src/activities/isolated-stage.js';
import type { IsolatedProcess, Report, StopWhy } from '../../src/activities/isolation.js';
import { attemptsOf, itemOf, taskOf } from '../support/facts.js';
import { byHand, doneWith, useSpine } from '../support/spine.js';
import { straight } from '../support/tables.js';
import { until } from '../support/until.js';
import { silent } from '../support/worker.js';

const spine = useSpine();

/** So short that a silence is over within the test, and long enough for a few ticks. */
const BEATS_MS = 80;

/** A process that does what the test says, and nothing by itself. */
function pretendProcess() {
  let listen: (report: Report) => void = () => undefined;
  let end: (how: string) => void = () => undefined;
  const asked: (StopWhy | 'kill')[] = [];
  const ended = new Promise<string>((resolve) => {
    end = resolve;
  });
  const process: IsolatedProcess = {
    onReport: (listener) => (listen = listener),
    askToStop: (why) => asked.push(why),
    kill() {
      asked.push('kill');
      end('was ended by SIGKILL');
    },
    ended,
  };
  return { process, asked, say: (report: Report) => listen(report), end: (how: string) => end(how) };
}

/** A suspect that was claimed for a process of its own, and the worker that waits for it. */
async function isolate() {
  const hand = byHand(spine.pool, straight);
  const id = await hand.make();
  for (const n of [1, 2]) await hand.claimed(id, { worker: `dead-${id}-${n}` });
  const claimed = await hand.claimed(id, { worker: `parent-${id}` });
  const { itemId, epoch, visit, state, stage, unit } = claimed;
  const input = {
    ...{ pipeline: 'straight', itemId, epoch, visit, state, stage, unit },
    withinMs: 60_000,
    beatsMs: BEATS_MS,
  };
  const child = pretendProcess();
  const beaten: unknown[] = [];
  let stop: (why: StopWhy) => void = () => undefined;
  const host: AttemptHost = {
    isLocal: false,
    beat: (progress) => beaten.push(progress),
    onStop: (listener) => (stop = listener),
  };
  const beats = startBeats(host, input);
  const run = (watched: Beats = beats) =>
    runIsolated(
      { pool: spine.pool, pipeline: straight, logger: silent, isolation: { places: 1, start: () => child.process } },
      { host, beats: watched, input, claimed },
    ).finally(() => beats.stop());
  return { hand, id, claimed, child, beaten, run, stop: (why: StopWhy) => stop(why) };
}

describe('the worker of an isolated stage', () => {
  it('returns what the process says of its end', async () => {
    const { child, run } = await isolate();
    const running = run();
    child.say({ said: 'begun' });
    child.say({ said: 'settled', settled: { is: 'step', step: { do: 'next' } } });
    child.end('ended with code 0');
    expect(await running).toEqual({ is: 'step', step: { do: 'next' } });
  });

  it('passes its progress on', async () => {
    const { child, run, beaten } = await isolate();
    const running = run();
    child.say({ said: 'begun' });
    await until('the progress is seen', () => {
      child.say({ said: 'beat', progress: { pages: 7 } });
      return beaten.some((each) => JSON.stringify(each) === '{"pages":7}');
    });
    child.end('was ended by SIGSEGV');
    await running;
  });

  it('blames the stage for the death of the process, and has it tried again', async () => {
    const { id, child, run } = await isolate();
    const running = run();
    child.say({ said: 'begun' });
    child.end('was ended by SIGSEGV');

    expect(await running).toMatchObject({ is: 'retry', errorClass: 'WORKER_CRASH' });
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ status: 'waiting', ownDeaths: 1, errors: 0 });
  });

  it('tells the run to ask its row after the third death', async () => {
    const { hand, id, claimed, child, run } = await isolate();
    await spine.pool.query('UPDATE tasks SET own_deaths = 2 WHERE item_id = $1', [id]);
    const running = run();
    child.say({ said: 'begun' });
    child.end('was ended by SIGSEGV');

    expect(await running).toEqual({ is: 'step', step: { do: 'next' } });
    expect(await itemOf(spine.pool, id)).toMatchObject({ endReason: 'POISON' });
    expect(await hand.finish(claimed)).toBe('superseded');
  });

  it('kills and blames a process that says nothing for the heartbeat timeout', async () => {
    const { id, child, run } = await isolate();
    const running = run();
    child.say({ said: 'begun' });

    expect(await running).toMatchObject({ is: 'retry', message: 'its process said nothing for 0.08 s' });
    expect(child.asked).toEqual(['kill']);
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ ownDeaths: 1 });
  });

  it('gives a process that has not begun more time than the heartbeat timeout', async () => {
    const { child, run, beaten } = await isolate();
    const running = run();
    await until('several timeouts are over', () => beaten.length > 12);
    expect(child.asked).toEqual([]);
    child.say({ said: 'begun' });
    child.say({ said: 'settled', settled: { is: 'step', step: { do: 'next' } } });
    child.end('ended with code 0');
    expect(await running).toMatchObject({ is: 'step' });
  });

  it('blames nobody for a process that died after its commit', async () => {
    const { hand, id, claimed, child, run } = await isolate();
    const running = run();
    child.say({ said: 'begun' });
    await hand.commit(claimed, doneWith(claimed));
    child.end('was ended by SIGKILL');

    expect(await running).toEqual({ is: 'step', step: { do: 'next' } });
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ status: 'done', ownDeaths: 0 });
  });

  it('has a process that never began tried again later, and spends neither a try nor a death', async () => {
    const { id, child, run } = await isolate();
    const running = run();
    child.end('could not be started (spawn EAGAIN)');

    expect(await running).toMatchObject({
      is: 'retry',
      message: 'the process for read did not start: it could not be started (spawn EAGAIN)',
    });
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ ownDeaths: 0, crashes: 2, errors: 0 });
    expect((await attemptsOf(spine.pool, id)).at(-1)).toBe('read unbegun');
  });

  it('has a process that did not start twenty times fail like any attempt, so that its tries end', async () => {
    const { id, claimed, child, run } = await isolate();
    await spine.pool.query(
      `INSERT INTO attempts (item_id, pipeline, visit, stage, attempt, fence, started_at, result)
       SELECT $1, 'straight', $2, 'read', 0, 0, now(), 'unbegun' FROM generate_series(1, 20)`,
      [id, claimed.visit],
    );
    const running = run();
    child.end('could not be started (spawn EAGAIN)');

    expect(await running).toMatchObject({ is: 'retry' });
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ ownDeaths: 0, errors: 1 });
  });

  it('fails as a stage in its worker would where the database refuses the commit of the process', async () => {
    const { id, child, run } = await isolate();
    const running = run();
    child.say({ said: 'begun' });
    child.say({ said: 'failed', message: 'permission denied for table attempts' });
    child.end('ended with code 0');

    await expect(running).rejects.toThrow('permission denied for table attempts');
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ status: 'running', ownDeaths: 0 });
  });

  it('beats the row until the process does it', async () => {
    const { id, claimed, child, run } = await isolate();
    const stale = `UPDATE tasks SET beat_at = started_at - interval '1 minute' WHERE item_id = $1`;
    const isBeaten = 'SELECT 1 FROM tasks WHERE item_id = $1 AND beat_at > started_at';
    await spine.pool.query(stale, [id]);
    const running = run();
    await until('its row is beaten', async () => (await spine.pool.query(isBeaten, [id])).rowCount === 1);
    child.say({ said: 'begun' });
    child.say({ said: 'settled', settled: { is: 'step', step: { do: 'next' } } });
    child.end('ended with code 0');
    await running;
    expect(claimed.isolated).toBe(true);
  });

  it.each(['shutdown', 'cancelled', 'superseded'] as const)(
    'kills a process that does not obey when it is asked to stop: %s',
    async (why) => {
      const { child, run, stop } = await isolate();
      const running = run();
      child.say({ said: 'begun' });
      stop(why);
      await until('it is killed', () => {
        child.say({ said: 'beat', progress: undefined });
        return child.asked.includes('kill');
      });
      expect(await running).toEqual(
        why === 'superseded' ? { is: 'step', step: { do: 'next' } } : { is: 'released', why },
      );
      expect(child.asked).toEqual([why, 'kill']);
    },
  );

  it.each(['shutdown', 'cancelled', 'lost_sight'] as const)(
    'gives the task back, and blames nobody, if it is asked to stop (%s) and the process dies',
    async (why) => {
      const { id, child, run, stop } = await isolate();
      const running = run();
      child.say({ said: 'begun' });
      stop(why);
      child.end('was ended by SIGKILL');

      expect(await running).toEqual({ is: 'released', why });
      expect(child.asked).toEqual([why]);
      expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ status: 'waiting', ownDeaths: 0, crashes: 2 });
    },
  );

  it('has the process write nothing if Temporal gave this worker up for its own silence', async () => {
    const { id, child, run, stop } = await isolate();
    const frozen: Beats = {
      report: () => undefined,
      wasSilent: () => true,
      isWaking: () => true,
      stop: () => undefined,
    };
    const running = run(frozen);
    child.say({ said: 'begun' });
    stop('lost_sight');
    child.end('ended with code 0');

    expect(await running).toEqual({ is: 'step', step: { do: 'next' } });
    expect(child.asked).toEqual(['superseded']);
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ status: 'running', ownDeaths: 0 });
    expect(await attemptsOf(spine.pool, id)).toEqual(['read crash', 'read crash']);
  });
});
