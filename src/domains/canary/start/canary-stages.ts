import type { Sql } from '../../../ports/sql.js';
import type { Stages } from '../../../ports/stage.js';
import { canaryStages } from '../activities/stages.js';
import { findCanarySettings, isLive } from '../db/canaries.js';
import type { canary } from '../table.js';
import { SELF_HARM } from './self-harm.js';

export function createCanaryStages(reads: Sql): Stages<typeof canary> {
  return canaryStages({
    find: (id) => findCanarySettings(reads, id),
    isLive: (id) => isLive(reads, id),
    self: SELF_HARM,
  });
}
