import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { findTemporalCli } from '../scripts/find-temporal-cli.mjs';
import { createPool } from '../src/db/postgres/client.js';
import { canary } from '../src/domains/canary/table.js';
import { startDispatcher } from '../src/loops/dispatcher.js';
import type { Engine } from '../src/ports/engine.js';
import { startTemporal } from '../src/start/embedded/embedded-temporal.js';
import { createTemporalClient } from '../src/temporal/connection.js';
import { createTemporalEngine } from '../src/temporal/engine.js';
import { freePort } from '../test/support/free-port.js';
import { addOther, countHeld, HELD_PIPELINE, OTHER } from './holds-data.js';
import type { BenchServer } from './server.js';
import type { Scene } from './sweep-data.js';

/** The milliseconds that items of the other pipeline waited until Temporal had answered for them. */
export type Waits = Record<'start' | 'wake', number[]>;

/** The time between two items of the other pipeline. */
const EVERY_MS = 50;

const CALM_MS = 20_000;

/** A release that takes longer has failed. */
const RELEASED_WITHIN_MS = 900_000;

export interface Released {
  /** While the pause lasted. */
  calm: Waits;
  /** From the end of the pause until the last held item was woken. */
  meanwhile: Waits;
  releasedPerSecond: number;
}

/** Lifts the pause while a dispatcher runs, and items of another pipeline come all the time. */
export async function waitsOfOthers({ folder, stops }: BenchServer, scene: Scene): Promise<Released> {
  const pool = createPool({ url: scene.url, size: 20, name: 'dispatcher' });
  stops.push(() => pool.end());
  const files = { cliPath: findTemporalCli(), dbFile: join(folder, 'temporal.db') };
  const temporal = await startTemporal({ ...files, port: await freePort(), log: () => undefined });
  stops.push(temporal.stop);
  const client = createTemporalClient({ address: temporal.address, namespace: 'default', tls: false });
  const told = new Map<string, () => void>();
  const real = createTemporalEngine(client);
  await real.ping();
  const engine: Engine = {
    ...real,
    async start(run) {
      await real.start(run);
      told.get(run.itemId)?.();
    },
    async wake(run) {
      const answer = await real.wake(run);
      // As the run does when it has seen its row.
      await pool.query('UPDATE items SET wake_after = NULL, wake_tries = 0 WHERE id = $1', [run.itemId]);
      told.get(run.itemId)?.();
      return answer;
    },
  };
  await scene.control.query(
    `INSERT INTO holds (pipeline, kind, until, reason, set_by) VALUES ($1, 'pause', now() + interval '1 hour', 'bench', 'bench')`,
    [HELD_PIPELINE],
  );
  const pipelines = { [HELD_PIPELINE]: canary, [OTHER]: { ...canary, name: OTHER } };
  const dispatcher = startDispatcher({ pool, engine, pipelines, logger: pino({ level: 'silent' }) });
  stops.push(() => dispatcher.stop());

  /** Lets items come until `isOver`, and waits for the last of them. */
  async function comeUntil(isOver: () => Promise<boolean>): Promise<Waits> {
    const waits: Waits = { start: [], wake: [] };
    const waiting: Promise<void>[] = [];
    for (let count = 0; !(await isOver()); count += 1) {
      const kind = count % 2 === 0 ? 'start' : 'wake';
      const began = performance.now();
      const id = await addOther(scene, kind);
      waiting.push(
        new Promise((resolve) => {
          told.set(id, () => {
            told.delete(id);
            waits[kind].push(performance.now() - began);
            resolve();
          });
        }),
      );
      await delay(EVERY_MS);
    }
    await Promise.all(waiting);
    return waits;
  }

  const calmUntil = performance.now() + CALM_MS;
  const calm = await comeUntil(async () => performance.now() >= calmUntil);
  const held = await countHeld(scene);
  const began = performance.now();
  await scene.control.query(`DELETE FROM holds`);
  const meanwhile = await comeUntil(async () => {
    if (performance.now() - began > RELEASED_WITHIN_MS) throw new Error('the held items were not released in time');
    return (await countHeld(scene)) === 0;
  });
  return { calm, meanwhile, releasedPerSecond: (held / (performance.now() - began)) * 1_000 };
}
