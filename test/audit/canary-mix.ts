import type { Asked } from './ledger.js';

/** Of ten canaries two have units and two await a decision, one of them both. */
export function canaryFrom(random: () => number): Asked {
  const stageMs = (): number => 200 + Math.floor(random() * 1_300);
  const kind = Math.floor(random() * 10);
  return {
    stageMs: [stageMs(), stageMs(), stageMs()],
    units: kind < 2 ? 2 + Math.floor(random() * 6) : 0,
    decision: kind === 1 || kind === 2,
  };
}
