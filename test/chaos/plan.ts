import { randomFrom } from '../audit/random.js';
import type { PartName, WireName } from '../support/installation.js';

/** One thing that is done to an installation and undone again. */
export interface Fault {
  atMs: number;
  /** Of a kill: how long the part is kept away; 0, the supervisor starts it again at once. */
  forMs: number;
  does: PartFault | WireFault;
}

export type PartFault = { kind: 'kill' | 'freeze'; part: PartName };
/** `stall` carries nothing and tells nobody; `delay` brings each piece late. */
export type WireFault = { kind: 'cut' | 'stall' | 'delay'; wire: WireName; delayMs: number };

const PARTS = ['worker-1', 'worker-2', 'api', 'postgres', 'temporal'] as const;
const WIRES = ['apiToTemporal', 'apiToPostgres', 'workersToTemporal', 'workersToPostgres'] as const;

/** Of twenty faults. Kills are what operators see most. */
const SHARES: readonly (readonly [kind: Fault['does']['kind'], share: number])[] = [
  ['kill', 7],
  ['freeze', 5],
  ['cut', 3],
  ['stall', 2],
  ['delay', 3],
];

/** Shorter and longer than what sees them: a lock that is gone (0.25 s), a heartbeat timeout (2 s), an answer's limit (5 s). */
const LENGTHS_MS: Readonly<Record<Fault['does']['kind'], readonly [number, number]>> = {
  kill: [500, 6_000],
  freeze: [500, 10_000],
  cut: [200, 8_000],
  stall: [1_000, 10_000],
  delay: [2_000, 12_000],
};

/** From a far-away region to a link that hardly carries. */
const DELAY_MS = [20, 1_500] as const;

/** From one fault to the next, on average half of it: some overlap, and there are moments of peace. */
const LONGEST_GAP_MS = 8_000;

/** The same part or wire is left alone for this long after a fault, or a kill would meet a part that is not there yet. */
const REST_MS = 4_000;

/** Work is in flight by then. */
const FIRST_AT_MS = 2_000;

/** The same faults for the same seed; all of them are over when the time is. */
export function planOf(seed: number, lengthMs: number): Fault[] {
  const random = randomFrom(seed);
  const busyUntil = new Map<string, number>();
  const plan: Fault[] = [];
  for (let atMs = FIRST_AT_MS; atMs < lengthMs; atMs += Math.round(random() * LONGEST_GAP_MS)) {
    const fault = faultAt(atMs, random);
    const target = targetOf(fault);
    if ((busyUntil.get(target) ?? 0) > atMs) continue;
    const forMs = Math.min(fault.forMs, lengthMs - atMs);
    busyUntil.set(target, atMs + forMs + REST_MS);
    plan.push({ ...fault, forMs });
  }
  return plan;
}

function faultAt(atMs: number, random: () => number): Fault {
  const kind = kindFrom(random);
  const forMs = between(random, ...LENGTHS_MS[kind]);
  if (kind !== 'kill' && kind !== 'freeze') {
    return { atMs, forMs, does: { kind, wire: oneOf(WIRES, random), delayMs: between(random, ...DELAY_MS) } };
  }
  const isBackAtOnce = kind === 'kill' && random() < 0.5;
  return { atMs, forMs: isBackAtOnce ? 0 : forMs, does: { kind, part: oneOf(PARTS, random) } };
}

function kindFrom(random: () => number): Fault['does']['kind'] {
  const all = SHARES.flatMap(([kind, share]) => Array.from({ length: share }, () => kind));
  return oneOf(all, random);
}

function oneOf<T>(all: readonly T[], random: () => number): T {
  return all[Math.floor(random() * all.length)] as T;
}

function between(random: () => number, least: number, most: number): number {
  return Math.round(least + random() * (most - least));
}

export function targetOf({ does }: Fault): PartName | WireName {
  return 'part' in does ? does.part : does.wire;
}

/** When all of it is undone. */
export function endOf(plan: readonly Fault[]): number {
  return Math.max(0, ...plan.map(({ atMs, forMs }) => atMs + forMs));
}

/** How many faults begin while another one lasts. */
export function overlapsIn(plan: readonly Fault[]): number {
  return plan.filter((fault) => plan.some((other) => other.atMs < fault.atMs && other.atMs + other.forMs > fault.atMs))
    .length;
}

export function sentenceOf(fault: Fault): string {
  const { atMs, forMs, does } = fault;
  const late = does.kind === 'delay' ? ` by ${String(does.delayMs)} ms` : '';
  const length = forMs === 0 ? 'back at once' : `for ${(forMs / 1_000).toFixed(1)} s`;
  return `${(atMs / 1_000).toFixed(1)} s: ${does.kind} ${targetOf(fault)}${late}, ${length}`;
}
