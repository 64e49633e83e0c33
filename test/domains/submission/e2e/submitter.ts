import { until } from '../../../support/until.js';
import type { Answer, Caller } from '../../../e2e/caller.js';

/** Somebody who submits skills and waits for what becomes of them. */
export interface Submitter {
  /** Submits a skill, which must be taken, and returns its id. */
  submit(asked: SkillAsked): Promise<string>;
  /** Its answer when it has ended, or awaits a person. */
  settled(id: string): Promise<Answer['body']>;
}

export interface SkillAsked {
  repoUrl: string;
  skillName: string;
  skillPath?: string;
}

/** A machine that is busy with other tests scans slowly. */
const SETTLED_WITHIN_MS = 120_000;

export function submitterOf(caller: Caller): Submitter {
  return {
    async submit(asked) {
      const { status, body } = await caller.post('/api/v1/submissions', asked);
      if (status !== 202) throw new Error(`answered ${String(status)}: ${JSON.stringify(body)}`);
      return String(body['id']);
    },
    async settled(id) {
      let seen: Answer['body'] = {};
      async function look(): Promise<Answer['body'] | null> {
        seen = (await caller.get(`/api/v1/submissions/${id}`)).body;
        return seen['live'] === false || seen['decision'] ? seen : null;
      }
      return until(`${id} has ended`, look, SETTLED_WITHIN_MS).catch((cause: unknown) => {
        throw new Error(`it is in ${JSON.stringify(seen)}`, { cause });
      });
    },
  };
}
