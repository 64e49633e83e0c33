import { type Kind, manyAtOnce, openSide } from './overhead-side.js';

/** One side in a process of its own: runs as many items of a kind as it is asked for, and then says how long they took. */
const [databaseUrl = '', address = '', namespace = '', folder = ''] = process.argv.slice(2);
const side = await openSide({ databaseUrl, address, namespace, folder, stops: [] });

export type AskedOfOverhead = { kind: Kind; count: number } | { perKind: number };

process.on('message', (asked: AskedOfOverhead) => {
  void ('kind' in asked ? run(asked.kind, asked.count) : side.assertEffects(asked.perKind).then(() => 0)).then(
    (ms) => process.send?.({ ms }),
    (error: unknown) => process.send?.({ error: error instanceof Error ? error.message : String(error) }),
  );
});
process.once('disconnect', () => {
  process.exit(0);
});
process.send?.('ready');

async function run(kind: Kind, count: number): Promise<number> {
  const began = performance.now();
  await manyAtOnce(count, side.items[kind]);
  return performance.now() - began;
}
