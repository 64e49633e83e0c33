import type { Facts, ItemFact, MoveFact } from './facts.js';
import { groupBy } from './group-by.js';
import type { Asked, Entry } from './ledger.js';

/** One thing that must not be, and of which item. */
export interface Finding {
  kind: 'lost' | 'doubled' | 'stuck' | 'trail';
  itemId: string;
  what: string;
}

/** Holds what the database says against what the client was told. The canary's table is not asked: what a canary must do
 *  and leave is written down here once more. */
export function findingsOf(facts: Facts, entries: readonly Entry[]): Finding[] {
  const effects = groupBy(facts.effects, ({ itemId }) => itemId);
  const moves = groupBy(facts.moves, ({ itemId }) => itemId);
  const items = new Map(facts.items.map((item) => [item.id, item]));
  const accepted = new Map(entries.flatMap((entry) => (entry.id === null ? [] : [[entry.id, entry] as const])));
  const findings: Finding[] = [];

  for (const { id } of facts.items) {
    if (!accepted.has(id)) findings.push({ kind: 'doubled', itemId: id, what: 'nobody was told of this item' });
  }
  for (const { itemId, count } of facts.decisions) {
    if (count > 1) findings.push({ kind: 'doubled', itemId, what: `decided ${String(count)} times` });
  }
  for (const [itemId, { asked }] of accepted) {
    const item = items.get(itemId);
    const trail = moves.get(itemId) ?? [];
    const found = item
      ? [
          ...stateFinding(item),
          ...effectFindings(asked, item, effects.get(itemId) ?? []),
          ...trailFindings(asked, trail, item),
        ]
      : [{ kind: 'lost' as const, what: 'it was accepted and is not there' }];
    findings.push(...found.map((each) => ({ ...each, itemId })));
  }
  return findings;
}

type Found = Omit<Finding, 'itemId'>;

function stateFinding({ state, endedAt }: ItemFact): Found[] {
  if (endedAt === null) return [{ kind: 'stuck', what: `it is still in ${state}` }];
  return state === 'DONE' ? [] : [{ kind: 'lost', what: `it ended in ${state}` }];
}

/** Exactly one effect for each stage and unit, in its only visit, and no other. What is not done yet is not lost yet. */
function effectFindings({ units }: Asked, { endedAt }: ItemFact, effects: Facts['effects']): Found[] {
  const missing = new Set(['1 first ', '1 second ', '1 third ']);
  for (let unit = 1; unit <= units; unit += 1) missing.add(`1 spread unit-${String(unit)}`);
  const found: Found[] = [];
  for (const { visit, stage, unit, count } of effects) {
    const name = `${String(visit)} ${stage} ${unit}`;
    if (!missing.delete(name)) found.push({ kind: 'doubled', what: `an effect that nobody asked for: ${name}` });
    if (count !== 1) found.push({ kind: 'doubled', what: `${String(count)} effects of ${name}` });
  }
  if (endedAt !== null) for (const name of missing) found.push({ kind: 'lost', what: `no effect of ${name}` });
  return found;
}

/** Versions 1 to n, each move beginning where the one before ended, along the one way that the canary may go. */
function trailFindings(asked: Asked, trail: MoveFact[], item: ItemFact): Found[] {
  const found: Found[] = [];
  const bad = (what: string) => void found.push({ kind: 'trail', what });
  trail.forEach(({ version, from }, at) => {
    if (version !== at + 1) bad(`line ${String(at + 1)} has version ${String(version)}`);
    const before = trail[at - 1]?.to ?? null;
    if (from !== before) bad(`version ${String(version)} comes from ${String(from)}, after ${String(before)}`);
  });
  const last = trail.at(-1);
  if (last?.version !== item.version || last.to !== item.state) bad(`the row and its last line differ`);
  // An item stays where it was when it is rescued, when its leftover run is ended, and when it waited while Temporal's queues changed.
  const stays = ['rescue', 'leftover-run-ended', 'queue-renewed'];
  const way = trail.filter(({ from, to, trigger }) => !stays.includes(trigger) || from !== to).map(({ to }) => to);
  const wanted = wayOf(asked).slice(0, way.length);
  if (way.join() !== wanted.join()) bad(`went ${way.join(' → ')}, not ${wanted.join(' → ')}`);
  return found;
}

function wayOf({ units, decision }: Asked): string[] {
  const spread = units > 0 ? ['SPREADING'] : [];
  const asks = decision ? ['AWAITING'] : [];
  return ['FIRST', ...spread, 'SECOND', ...asks, 'THIRD', 'DONE'];
}
