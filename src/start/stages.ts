import type pg from 'pg';
import { canaryStages } from '../activities/canary/stages.js';
import { findCanarySettings, isLive } from '../db/canaries.js';
import type { AnyStage } from '../ports/stage.js';

type StagesOf = (pool: pg.Pool) => Readonly<Record<string, AnyStage>>;

/** Signals to ourselves: what a canary that an admin told to die or freeze does. */
const SELF = {
  kill: () => void process.kill(process.pid, 'SIGKILL'),
  freeze: () => void process.kill(process.pid, 'SIGSTOP'),
};

/** The stages of every pipeline with what they need. A new pipeline is one entry here. */
export const STAGES: Readonly<Record<string, StagesOf>> = {
  canary: (pool) =>
    canaryStages({ find: (id) => findCanarySettings(pool, id), isLive: (id) => isLive(pool, id), self: SELF }),
};
