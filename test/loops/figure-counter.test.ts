import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { startFigureCounter } from '../../src/loops/figure-counter.js';
import { COUNTING, figureLines } from '../support/figures.js';
import { useSpine } from '../support/spine.js';
import { straight } from '../support/tables.js';
import { until } from '../support/until.js';

const spine = useSpine();

it('copies of the counter count every attempt once, also those that end while they run', async () => {
  const deps = { pool: spine.limited, pipelines: { straight }, kept: COUNTING.kept, logger: pino({ level: 'silent' }) };
  const write = (count: number) =>
    spine.pool.query(
      `INSERT INTO attempts (item_id, pipeline, visit, stage, attempt, fence, started_at, result)
       SELECT gen_random_uuid(), 'straight', 1, 'read', 1, 1, now(), 'done' FROM generate_series(1, $1)`,
      [count],
    );
  await write(5_000);
  const copies = [1, 2, 3].map(() => startFigureCounter('attempts', deps));
  onTestFinished(async () => {
    await Promise.all(copies.map((copy) => copy.stop()));
  });
  for (let n = 0; n < 20; n += 1) await write(10);

  await until('all are counted', async () => {
    for (const copy of copies) copy.wake();
    const [line] = await figureLines(spine.pool, 'straight', 'attempt');
    return line === 'read done 5200';
  });
  for (const copy of copies) copy.wake();
  await Promise.all(copies.map((copy) => copy.stop()));

  expect(await figureLines(spine.pool, 'straight', 'attempt')).toEqual(['read done 5200']);
});
