import { type BenchServer, withServer } from './server.js';
import { LIVE, openScene, type Scene } from './sweep-data.js';
import { report, say, type Swept, type SweptScenes } from './sweep-report.js';
import { sweeperOf } from './sweep-side.js';
import { writersBesideSweeps } from './sweep-writers.js';

export { benchmarkAgainst } from './sweep-against.js';

const ITEMS = Number(process.env['BENCH_ITEMS'] ?? 1_000_000);
const REPEATS = Number(process.env['BENCH_REPEATS'] ?? 20);

/** A sweep over a thousand live items, fifty of them stuck, among a million and among a hundred thousand; and what sweeps cost
 *  those who write at the same time. */
export async function benchmark(): Promise<boolean> {
  return withServer(measure);
}

async function measure({ url, session, stops }: BenchServer): Promise<boolean> {
  const finished = ITEMS - LIVE;
  const scenes: Scene[] = [];
  for (const [name, count] of [
    ['many', finished],
    ['few', Math.round(finished / 10)],
  ] as const) {
    const began = performance.now();
    const scene = await openScene(url, name, count);
    stops.push(() => scene.control.end());
    scenes.push(scene);
    say(`${String(LIVE)} live and ${String(count)} finished items loaded in ${seconds(began)} s`);
  }
  // What loading left to be written is written now, and not while we measure.
  await session.query('CHECKPOINT');
  const [many, few] = scenes as [Scene, Scene];
  const swept = { many: await sweeperOf(many, session, stops), few: await sweeperOf(few, session, stops) };
  const figures = await interleave(swept);
  return report(figures, await writersBesideSweeps(many.url), { many, few });
}

async function interleave(sweeps: Record<'many' | 'few', () => Promise<Swept>>): Promise<SweptScenes> {
  const figures: SweptScenes = { many: [], few: [] };
  for (const each of [sweeps.many, sweeps.few]) await each();
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    const order = repeat % 2 === 0 ? (['many', 'few'] as const) : (['few', 'many'] as const);
    for (const kind of order) figures[kind].push(await sweeps[kind]());
  }
  return figures;
}

function seconds(since: number): string {
  return ((performance.now() - since) / 1_000).toFixed(1);
}
