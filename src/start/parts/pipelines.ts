import type { Config } from '../../config.js';
import { isDoes } from '../../core/machine.js';
import type { Pipeline, StageRow, StateRow } from '../../core/pipeline.js';
import { assertSoundTable } from '../../core/sound-table.js';
import { PIPELINES } from '../../domains/tables.js';

/** The tables with the operator's settings laid over them. A value that is not set holds as written. */
export function pipelinesOf(config: Config): Record<string, Pipeline> {
  return Object.fromEntries(
    Object.entries(PIPELINES).map(([name, table]) => {
      const overlay = config.pipelines[name];
      const sweep = { ...table.sweep, ...dropUndefined(overlay?.sweep ?? {}) };
      const rescue = { ...table.rescue, ...dropUndefined(overlay?.rescue ?? {}) };
      const states = statesWith(table, ({ stage, short }) => ({
        ...(overlay?.beats && !short && { beats: overlay.beats }),
        ...overlay?.stages[stage],
      }));
      const limits = dropUndefined({ livePerOwner: overlay?.livePerOwner });
      const pipeline = { ...table, ...limits, sweep, rescue, states, breaker: config.breaker, deaths: config.deaths };
      assertSoundTable(pipeline);
      return [name, pipeline];
    }),
  );
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
