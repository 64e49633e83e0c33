import { type Edge, edgesOf, isAwaits, isEnd, isRests, stagesIn } from './machine.js';
import type { Pipeline, StageRow, StateRow } from './pipeline.js';

/** The pipeline as a Mermaid state diagram. Recovery moves lead out of nearly every state. Drawn as arrows they would
 *  hide the other moves, so they share one note. */
export function diagramOf(pipeline: Pipeline): string {
  const edges = edgesOf(pipeline);
  const drawn = edges
    .filter((edge) => !isRecovery(edge))
    .map(({ from, to, trigger }) => `${from} --> ${to}: ${trigger}`);
  const lines = [`[*] --> ${pipeline.start}`, ...drawn];
  for (const [state, row] of Object.entries(pipeline.states)) {
    if (isEnd(row)) lines.push(`${state} --> [*]`);
    else lines.push(`note right of ${state}: ${happeningIn(row)}`);
  }
  lines.push(`note left of ${pipeline.start}`, ...recoveryOf(edges).map((line) => `  ${line}`), 'end note');
  return `stateDiagram-v2\n${lines.map((line) => `  ${line}\n`).join('')}`;
}

function isRecovery({ via }: Edge): boolean {
  return via === 'cancel' || via === 'exhaustion' || via === 'rescue';
}

function happeningIn(row: Exclude<StateRow, { ends: unknown }>): string {
  const limit = row.admits === undefined ? '' : ` (${row.admits} at once)`;
  if (isAwaits(row)) return `awaits ${row.awaits}${limit}`;
  if (isRests(row)) return `rests, ${row.rests}${limit}`;
  return `does ${stagesIn(row).map(nameOf).join(', ')}${limit}`;
}

function nameOf({ stage, fanOut }: StageRow): string {
  return fanOut ? `${stage} × N` : stage;
}

/** One line for each trigger and target: `rescue → queued from extracting, chunking`. */
function recoveryOf(edges: readonly Edge[]): string[] {
  const live = new Set(edges.filter(({ via }) => via === 'cancel').map(({ from }) => from));
  const sources = new Map<string, string[]>();
  for (const { from, to, trigger } of edges.filter(isRecovery)) {
    const move = `${trigger} → ${to}`;
    sources.set(move, [...(sources.get(move) ?? []), from]);
  }
  return [...sources].map(([move, states]) => {
    return `${move} from ${states.length === live.size ? 'every live state' : states.join(', ')}`;
  });
}
