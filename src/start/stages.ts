import { canaryStages } from '../domains/canary/activities/stages.js';
import type { Config } from '../config.js';
import { findCanarySettings, isLive } from '../domains/canary/db/canaries.js';
import type { Sql } from '../ports/sql.js';
import type { AnyStage } from '../ports/stage.js';
import { submissionStagesOf } from '../domains/submission/start/submission-stages.js';

/** What a worker process gives its stages to build theirs from. */
export interface StageParts {
  /** For reading; what a stage writes is its save. Waits for a database that is away. */
  reads: Sql;
  config: Config;
}

type NamedStages = Readonly<Record<string, AnyStage>>;
type StagesOf = (parts: StageParts) => NamedStages | Promise<NamedStages>;

/** Signals to ourselves: what a canary that an admin told to die or freeze does. */
const SELF = {
  kill: () => void process.kill(process.pid, 'SIGKILL'),
  freeze: () => void process.kill(process.pid, 'SIGSTOP'),
};

/** The stages of every pipeline with what they need. A new pipeline is one entry here. */
export const STAGES: Readonly<Record<string, StagesOf>> = {
  canary: ({ reads }) =>
    canaryStages({ find: (id) => findCanarySettings(reads, id), isLive: (id) => isLive(reads, id), self: SELF }),
  submission: submissionStagesOf,
};
