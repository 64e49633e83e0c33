import type { Client } from '@temporalio/client';
import type { Membership } from '../../core/installation.js';
import { hasShortStage } from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';
import type { Engine } from '../../ports/engine.js';
import { createTemporalEngine } from '../../temporal/engine.js';

/** The engine of every process that starts runs. It knows which pipelines have short stages, because the runs of these need a
 *  shorter task timeout. */
export function createEngine(
  client: Client,
  pipelines: Readonly<Record<string, Pipeline>>,
  membership: Membership,
): Engine {
  const short = new Set(
    Object.values(pipelines)
      .filter(hasShortStage)
      .map(({ name }) => name),
  );
  return createTemporalEngine(client, { isShort: (name) => short.has(name), membership });
}
