import type { Config } from '../../config.js';
import { overlaidTable } from '../../config/overlaid-table.js';
import type { Pipeline } from '../../core/pipeline.js';
import { assertSoundTable } from '../../core/sound-table.js';
import { PIPELINES } from '../../domains/tables.js';

/** The pipelines' tables with the settings of this installation: those of each pipeline, and those that all pipelines share. */
export function pipelinesOf({ pipelines, breaker, deaths }: Config): Record<string, Pipeline> {
  return Object.fromEntries(
    Object.entries(PIPELINES).map(([name, table]) => {
      const pipeline = { ...overlaidTable(table, pipelines[name]), breaker, deaths };
      assertSoundTable(pipeline);
      return [name, pipeline];
    }),
  );
}
