import { setTimeout as delay } from 'node:timers/promises';
import type { Installation } from '../support/installation.js';
import { type Fault, type PartFault, sentenceOf, type WireFault } from './plan.js';

/** What was really done, and when. */
export interface Inflicted {
  fault: Fault;
  from: Date;
  /** Null: not undone yet. */
  to: Date | null;
  /** When what was hit is there again: a part that was killed must come up first. Null: it is not. */
  backAt: Date | null;
  /** Of the process that was hit. */
  pid: number | null;
}

/** Does what the plan says, at its times; comes back when all of it is undone. `log` tells of each as it is done. */
export async function inflictAll(installation: Installation, plan: readonly Fault[], log: Inflicted[]): Promise<void> {
  const began = performance.now();
  await Promise.all(
    plan.map(async (fault) => {
      await delay(Math.max(0, fault.atMs - (performance.now() - began)));
      await inflict(installation, fault, log).catch((cause: unknown) => {
        throw new Error(`could not be done: ${sentenceOf(fault)}`, { cause });
      });
    }),
  );
}

async function inflict(installation: Installation, fault: Fault, log: Inflicted[]): Promise<void> {
  const { does, forMs } = fault;
  const entry: Inflicted = { fault, from: new Date(), to: null, backAt: null, pid: null };
  log.push(entry);
  if ('part' in does) entry.pid = await hitPart(installation, does, forMs);
  else await hitWire(installation, does, forMs);
  entry.to = new Date();
  if (does.kind !== 'kill') entry.backAt = entry.to;
  else void noteReturn(installation, does.part, entry);
}

/** Not waited for: coming up is part of what healing takes. One that never does is missed by everybody. */
async function noteReturn(installation: Installation, part: PartFault['part'], entry: Inflicted): Promise<void> {
  await installation.backFrom(part, entry.pid ?? 0).then(
    () => (entry.backAt = new Date()),
    () => undefined,
  );
}

async function hitPart(installation: Installation, { kind, part }: PartFault, forMs: number): Promise<number> {
  if (kind === 'kill' && forMs === 0) return installation.kill(part);
  const pid = await (kind === 'kill' ? installation.takeAway(part) : installation.freeze(part));
  await delay(forMs);
  if (kind === 'kill') installation.release(part);
  else installation.thaw(part);
  return pid;
}

async function hitWire(installation: Installation, { kind, wire, delayMs }: WireFault, forMs: number): Promise<void> {
  const proxy = installation.wires[wire];
  if (kind === 'cut') proxy.cut();
  if (kind === 'stall') proxy.stall();
  if (kind === 'delay') proxy.delay(delayMs);
  await delay(forMs);
  proxy.heal();
}
