// Writes docs/pipelines.md from the tables: `tsx scripts/write-diagrams.ts`. A test refuses a page that is out of date.
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { diagramOf } from '../src/core/diagram.js';
import { stagesIn } from '../src/core/machine.js';
import type { Pipeline, StageRow } from '../src/core/pipeline.js';
import { DEFAULT_BEATS } from '../src/core/step.js';
import { PIPELINES } from '../src/domains/tables.js';

const HEAD = `# Pipelines

Generated from the tables in \`src/domains\` by \`scripts/write-diagrams.ts\`; do not edit. Arrows carry the word that the
move leaves in the audit trail; the note on the left lists the recovery moves. Settings may overlay thresholds and budgets.
`;

export function pipelinesPage(pipelines: Readonly<Record<string, Pipeline>>): string {
  return [HEAD, ...Object.values(pipelines).map(sectionOf)].join('\n');
}

function sectionOf(pipeline: Pipeline): string {
  return [
    `## ${pipeline.name}\n`,
    `${thresholdsOf(pipeline)}\n`,
    `\`\`\`mermaid\n${diagramOf(pipeline)}\`\`\`\n`,
    `${stageTable(pipeline)}\n`,
  ].join('\n');
}

function thresholdsOf({ sweep, rescue }: Pipeline): string {
  return [
    `Swept every ${sweep.every}; stale after ${sweep.staleAfter}, stuck after ${sweep.stuckAfter} without a sign of life.`,
    `Rescued ${String(rescue.budget)} times, with ${rescue.backoff.join(', ')} between; the count is forgotten after`,
    `${rescue.budgetResetAfter}; nothing older than ${rescue.oldestRescued} is rescued by itself.`,
  ].join('\n');
}

function stageTable(pipeline: Pipeline): string {
  const rows = Object.entries(pipeline.states).flatMap(([state, row]) =>
    stagesIn(row).map((each) => cellsOf(state, each)),
  );
  const head = ['state', 'stage', 'tries', 'each within', 'silent for', 'when spent'];
  const widths = head.map((title, at) =>
    Math.max(...[head, ...rows].map((cells) => cells[at]?.length ?? title.length)),
  );
  const line = (cells: readonly string[]) => `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

function cellsOf(state: string, { stage, tries, within, beats, spent, fanOut, short }: StageRow): string[] {
  const name = fanOut ? `${stage} × N, ${String(fanOut.width)} at once, needs ${fanOut.needs}` : stage;
  const silent = short ? '–' : (beats ?? DEFAULT_BEATS);
  return [state, name, String(tries), within, silent, typeof spent === 'object' ? spent.move : spent];
}

if (process.argv[1] === import.meta.filename) {
  writeFileSync(resolve(import.meta.dirname, '../docs/pipelines.md'), pipelinesPage(PIPELINES));
}
