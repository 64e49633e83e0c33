/** One change of a source file: this text, which is there exactly once, becomes that one. */
export interface Change {
  file: string;
  from: string;
  to: string;
}

export const PATCH = 'look-before-each-stage';

/** What the next version does: each run looks at its row before each stage, one activity more than its history knows. */
const looks = (isNew: string): Change[] => [
  {
    file: 'workflows/run-item.ts',
    from: `let step = input.step;`,
    to: `let step = input.step;\n  const looksFirst = ${isNew};`,
  },
  {
    file: 'workflows/run-item.ts',
    from: `step = await perform(run, step, priorityKey);`,
    to: `if (looksFirst && step.do === 'stage') await askRow(run, priorityKey);\n      step = await perform(run, step, priorityKey);`,
  },
];

/** As a workflow must be changed: runs that began before the change go on as they began. */
export const WORKFLOW_PATCHED: readonly Change[] = looks(`patched('${PATCH}')`);

/** The same without the care: what must be seen to break. */
export const WORKFLOW_UNPATCHED: readonly Change[] = looks('true');

/** A table needs no such care: the canary's last stage becomes short, that is a local activity. */
export const TABLE: readonly Change[] = [
  {
    file: 'domains/canary/table.ts',
    from: `stage('third', STAGE)`,
    to: `stage('third', { tries: 3, within: '8s', short: true, spent: { move: 'FAILED' } })`,
  },
];

export function applyChange(source: string, { file, from, to }: Change): string {
  const parts = source.split(from);
  if (parts.length !== 2) throw new Error(`${file} has ${String(parts.length - 1)} places for the change, not one`);
  return parts.join(to);
}
