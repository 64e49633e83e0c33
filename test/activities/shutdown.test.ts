import { describe, expect, it } from 'vitest';
import type { AnyStage } from '../../src/ports/stage.js';
import { gate } from '../support/barrier.js';
import { attemptsOf, effectsOf, taskOf } from '../support/facts.js';
import { brief, straight } from '../support/tables.js';
import { leave, type Line, untilAborted, useStack } from '../support/worker.js';

const stack = useStack();

/** The stages of the worker that shuts down and of the worker after it, told apart by the attempt. */
function firstThen(first: AnyStage, then: AnyStage): AnyStage {
  return (context) => (context.attempt === 1 ? first(context) : then(context));
}

async function workersOf(itemId: string, stage: string): Promise<(string | null)[]> {
  const { rows } = await stack.pool.query<{ worker: string | null }>(
    'SELECT worker FROM attempts WHERE item_id = $1 AND stage = $2 ORDER BY id',
    [itemId, stage],
  );
  return rows.map(({ worker }) => worker);
}

/** Two workers. The worker that runs the stage is asked to shut down. */
async function handOver(
  line: Line,
  stages: Record<string, AnyStage>,
  graceMs: number,
  onceAsked: () => void = () => undefined,
) {
  const started = gate();
  const watched = Object.fromEntries(
    Object.entries(stages).map(([name, stage]): [string, AnyStage] => [
      name,
      (context) => {
        started.open();
        return stage(context);
      },
    ]),
  );
  const workers = await Promise.all([line.work({ graceMs }), line.work({ graceMs })]);
  const run = await line.start(watched);
  await started.opened;
  const owner = await ownerOf(run.itemId);
  const [first, second] = workers[0].id === owner ? workers : [workers[1], workers[0]];
  const stopping = first.stop();
  onceAsked();
  await stopping;
  return { run, first, second };
}

async function ownerOf(itemId: string): Promise<string | undefined> {
  const { rows } = await stack.pool.query<{ worker: string }>(
    `SELECT worker FROM tasks WHERE item_id = $1 AND status = 'running'`,
    [itemId],
  );
  return rows[0]?.worker;
}

describe.concurrent('a worker that shuts down', () => {
  it('gives back the stage in flight, which costs nothing, and another goes on', async () => {
    const line = stack.line(straight);
    const read = firstThen(untilAborted(), leave);
    const { run, first, second } = await handOver(line, { read }, 300);

    expect(await line.closed(run)).toBe('final');
    expect(await attemptsOf(stack.pool, run.itemId)).toEqual([
      'read shutdown',
      'read done',
      'check done',
      'write done',
    ]);
    expect(await workersOf(run.itemId, 'read')).toEqual([first.id, second.id]);
    expect(await taskOf(stack.pool, run.itemId, 'read')).toMatchObject({ errors: 0, crashes: 0, attempt: 2 });
    expect(await effectsOf(stack.pool, run.itemId)).toEqual(['1 read', '1 check', '1 write']);
  });

  it('gives it back though the stage does not listen', async () => {
    const line = stack.line(straight);
    const late = gate();
    const read = firstThen(async (context) => {
      await late.opened;
      return leave(context);
    }, leave);
    const { run } = await handOver(line, { read }, 300);
    late.open();

    expect(await line.closed(run)).toBe('final');
    expect(await attemptsOf(stack.pool, run.itemId)).toEqual([
      'read shutdown',
      'read done',
      'check done',
      'write done',
    ]);
    expect(await effectsOf(stack.pool, run.itemId)).toEqual(['1 read', '1 check', '1 write']);
  });

  it('lets a stage that ends within the grace commit', async () => {
    const line = stack.line(straight);
    const asked = gate();
    async function read(context: Parameters<AnyStage>[0]) {
      await asked.opened;
      expect(context.signal.aborted).toBe(false);
      return leave(context);
    }
    const { run, first } = await handOver(line, { read }, 10_000, asked.open);

    expect(await line.closed(run)).toBe('final');
    expect(await attemptsOf(stack.pool, run.itemId)).toEqual(['read done', 'check done', 'write done']);
    expect(await workersOf(run.itemId, 'read')).toEqual([first.id]);
  });

  it('lets a short stage end, without any grace', async () => {
    const line = stack.line(brief);
    const asked = gate();
    async function look(context: Parameters<AnyStage>[0]) {
      await asked.opened;
      return leave(context, 'known');
    }
    const { run, first } = await handOver(line, { look }, 0, asked.open);

    expect(await line.closed(run)).toBe('final');
    expect(await workersOf(run.itemId, 'look')).toEqual([first.id]);
    expect(await taskOf(stack.pool, run.itemId, 'look')).toMatchObject({ errors: 0, crashes: 0, attempt: 1 });
  });
});
