import type { Facts } from './diagnosis.js';

/** The engine's answer about a run. */
export type RunLook = { is: 'alive'; wedgedBy: string | null } | { is: 'gone'; how: string } | { is: 'unknown' };

/** The engine's answer as facts of a diagnosis. */
export function engineFactsOf(look: RunLook): Pick<Facts, 'engine' | 'wedgedBy' | 'closedAs'> {
  if (look.is === 'gone') return { engine: 'gone', closedAs: look.how };
  if (look.is === 'unknown' || look.wedgedBy === null) return { engine: look.is };
  return { engine: 'alive', wedgedBy: look.wedgedBy };
}
