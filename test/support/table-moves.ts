import { edgesOf, isEnd, rowOf, stateNamesOf, type Via } from '../../src/core/machine.js';
import type { Pipeline } from '../../src/core/pipeline.js';

/** The moves in a text such as `A → B | C · D → E`, as the specification writes them, sorted. */
export function movesIn(text: string): string[] {
  const moves = text.split('·').flatMap((part) => {
    const [from = '', to = ''] = part.split('→');
    return to.split('|').map((each) => `${from.trim()} → ${each.trim()}`);
  });
  return moves.sort();
}

/** The moves of a table that are made in these ways, as `A → B`, sorted. */
export function movesBy(pipeline: Pipeline, ...vias: Via[]): string[] {
  const moves = edgesOf(pipeline).filter((edge) => vias.includes(edge.via));
  return [...new Set(moves.map(({ from, to }) => `${from} → ${to}`))].sort();
}

export function finalStates(pipeline: Pipeline): string[] {
  return stateNamesOf(pipeline).filter((state) => isEnd(rowOf(pipeline, state)));
}
