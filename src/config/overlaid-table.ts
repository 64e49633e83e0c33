import { isDoes, stagesIn } from '../core/machine.js';
import type { Pipeline, StageRow, StateRow } from '../core/pipeline.js';
import { tableProblemsIn } from '../core/sound-table.js';
import { msOf } from '../core/span.js';
import { DEFAULT_BEATS } from '../core/step.js';
import { overlayOf, type PipelineOverlay, prefixOf } from './pipeline-overlay.js';

/** The table with the operator's settings laid over it. A value that is not set holds as written. */
export function overlaidTable(table: Pipeline, overlay: PipelineOverlay | undefined): Pipeline {
  const sweep = { ...table.sweep, ...dropUndefined(overlay?.sweep ?? {}) };
  const rescue = { ...table.rescue, ...dropUndefined(overlay?.rescue ?? {}) };
  const states = statesWith(table, ({ stage, short }) => ({
    ...(overlay?.beats && !short && { beats: overlay.beats }),
    ...overlay?.stages[stage],
  }));
  return { ...table, ...dropUndefined({ livePerOwner: overlay?.livePerOwner }), sweep, rescue, states };
}

/** Changes the options of stages. Short stages have no heartbeat timeout. */
function statesWith({ states }: Pipeline, optionsOf: (stage: StageRow) => Partial<StageRow>): Pipeline['states'] {
  const ofStage = (stage: StageRow): StageRow => ({ ...stage, ...optionsOf(stage) });
  const ofRow = (row: StateRow): StateRow => {
    if (!isDoes(row)) return row;
    return { ...row, does: 'stage' in row.does ? ofStage(row.does) : row.does.map(ofStage) };
  };
  return Object.fromEntries(Object.entries(states).map(([state, row]) => [state, ofRow(row)]));
}

function dropUndefined<T extends object>(settings: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(settings).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

type Given = Parameters<typeof overlayOf>[0];

/** Settings of a pipeline that are right one by one, and contradict its table or each other. Each problem names the variables without
 *  any one of which it would be gone. `texts` are the values as they were set. */
export function overlayProblemsIn(
  table: Pipeline,
  given: Given,
  texts: Readonly<Record<string, string | undefined>>,
): string[] {
  const problemsWith = (some: Given): string[] => {
    const overlaid = overlaidTable(table, overlayOf(some));
    return [...tableProblemsIn(overlaid), ...briefStagesIn(overlaid)];
  };
  const names = Object.keys(given);
  const problemsWithout = new Map(
    names.map((name) => [name, problemsWith(dropUndefined({ ...given, [name]: undefined }))]),
  );
  const written = problemsWith({});
  return problemsWith(given)
    .filter((problem) => !written.includes(problem))
    .map((problem) => {
      const causes = names.filter((name) => !problemsWithout.get(name)?.includes(problem));
      const blamed = causes.length > 0 ? causes : names;
      const variables = blamed.map((name) => `${prefixOf(table.name)}${name}`).join(', ');
      const values = blamed.map((name) => `'${texts[name] ?? ''}'`).join(', ');
      return `${variables}: expected to agree with the other limits of the pipeline, got ${values}: ${problem}`;
    });
}

/** Stages that would time out before the silence of a frozen worker is noticed, so that the item would be charged with an error. */
function briefStagesIn({ states }: Pipeline): string[] {
  return Object.values(states)
    .flatMap(stagesIn)
    .filter(({ short, within, beats = DEFAULT_BEATS }) => !short && msOf(within) < msOf(beats))
    .map(
      ({ stage, within, beats = DEFAULT_BEATS }) =>
        `stage '${stage}' may take ${within}, less than the ${beats} after which its worker counts as frozen`,
    );
}
