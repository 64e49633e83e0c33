import type { Config } from '../config.js';
import type { Pipeline } from '../core/pipeline.js';
import { assertSoundTable } from '../core/sound-table.js';
import { PIPELINES } from '../pipelines/registry.js';

/** The tables with the operator's settings laid over them; what is not set holds as written. */
export function pipelinesOf(config: Config): Record<string, Pipeline> {
  return Object.fromEntries(
    Object.entries(PIPELINES).map(([name, table]) => {
      const overlay = config.pipelines[name];
      const sweep = { ...table.sweep, ...given(overlay?.sweep ?? {}) };
      const rescue = { ...table.rescue, ...given(overlay?.rescue ?? {}) };
      const pipeline = { ...table, sweep, rescue, breaker: config.breaker };
      assertSoundTable(pipeline);
      return [name, pipeline];
    }),
  );
}

function given<T extends object>(settings: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(settings).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
