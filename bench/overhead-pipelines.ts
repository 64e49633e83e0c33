import { stagesIn } from '../src/core/machine.js';
import type { Pipeline, StateRow } from '../src/core/pipeline.js';
import { canary } from '../src/domains/canary/table.js';

/** The canary with its single stages as local activities. */
const shortCanary: Pipeline = {
  ...canary,
  name: 'canary-short',
  states: Object.fromEntries(Object.entries(canary.states).map(([state, row]) => [state, shortened(row)])),
};

function shortened(row: StateRow): StateRow {
  const [only] = stagesIn(row);
  return 'does' in row && only && !only.fanOut ? { ...row, does: { ...only, short: true } } : row;
}

export const OVERHEAD_PIPELINES: readonly Pipeline[] = [canary, shortCanary];
