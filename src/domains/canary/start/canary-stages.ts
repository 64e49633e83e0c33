import type { Sql } from '../../../ports/sql.js';
import type { Stages } from '../../../ports/stage.js';
import { canaryStages } from '../activities/stages.js';
import { findCanarySettings, isLive } from '../db/canaries.js';
import type { canary } from '../table.js';

/** Signals to this process, for a stage that an admin told to die or to freeze. */
const SELF = {
  kill: () => void process.kill(process.pid, 'SIGKILL'),
  freeze: () => void process.kill(process.pid, 'SIGSTOP'),
};

export function createCanaryStages(reads: Sql): Stages<typeof canary> {
  return canaryStages({ find: (id) => findCanarySettings(reads, id), isLive: (id) => isLive(reads, id), self: SELF });
}
