import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import type { ApiClient } from '../../../../start/parts/api-client.js';
import { StartError } from '../../../../start/embedded/start-error.js';
import type { Address } from './address-of.js';

const Accepted = z.object({
  /** Null: somebody else submitted the skill, and only that person sees the submission. */
  id: z.string().nullable(),
  state: z.string(),
  duplicate: z.boolean().optional(),
  /** Null: no link can be signed, or somebody else submitted the skill. */
  statusUrl: z.string().nullable(),
  alreadyVerified: z.boolean().optional(),
  nextAction: z.string().optional(),
});

const Reason = z.object({ why: z.string(), file: z.string().nullable(), line: z.int().nullable(), remedy: z.string() });

export const FollowedSubmission = z.object({
  id: z.string(),
  state: z.string(),
  skillName: z.string(),
  live: z.boolean(),
  decision: z.object({ awaits: z.string() }).nullable(),
  diagnosis: z.object({ reason: z.string(), sentence: z.string(), nextAction: z.string() }),
  judgement: z
    .object({ score: z.number(), model: z.string(), concerns: z.array(z.object({ text: z.string() })) })
    .nullable(),
  published: z.object({ name: z.string(), version: z.string() }).nullable(),
  history: z.array(
    z.object({ toState: z.string(), trigger: z.string(), metadata: z.unknown(), createdAt: z.string() }),
  ),
  why: z.object({ summary: z.string(), reasons: z.array(Reason), more: z.int() }).nullable(),
  nextAction: z.string(),
});
export type FollowedSubmission = z.output<typeof FollowedSubmission>;

/** A move is shown soon after it happened, and the requests stay far below the API's limit for one caller. */
const LOOK_EVERY_MS = 500;

/** The diagnosis of an item that moves on is not printed, because it is no news. */
const ON_ITS_WAY: readonly string[] = ['not_due', 'running', 'backlog', 'finished'];

/** If the API refuses the name and the caller gave none, the sentence says where the name came from. */
export async function postSubmission(
  { call, read }: ApiClient,
  address: Address,
  isNameGuessed: boolean,
): Promise<z.output<typeof Accepted>> {
  try {
    return await read(await call('POST', '/api/v1/submissions', address), Accepted);
  } catch (error) {
    if (!isNameGuessed || !(error instanceof StartError) || !error.message.includes('skillName ')) throw error;
    const hint = `The name was taken from the folder's, ${address.skillName}; give the skill's own with --skill.`;
    throw new StartError(`${error.message} ${hint}`, { cause: error });
  }
}

/** Prints every move and the reason of every wait. Returns when the item has ended or a person must decide. */
export async function followSubmission(
  { call, read }: ApiClient,
  id: string,
  say: (line: string) => void,
): Promise<FollowedSubmission> {
  let told = 0;
  let waitingFor = '';
  for (;;) {
    const seen = await read(await call('GET', `/api/v1/submissions/${id}`), FollowedSubmission);
    for (const line of movesOf(seen).slice(told)) say(line);
    told = seen.history.length;
    if (!seen.live || seen.decision) return seen;
    const { reason, sentence, nextAction } = seen.diagnosis;
    if (reason !== waitingFor && !ON_ITS_WAY.includes(reason)) say(`  ${sentence} ${nextAction}`);
    waitingFor = reason;
    await pause(LOOK_EVERY_MS);
  }
}

function movesOf({ history }: FollowedSubmission): string[] {
  const began = Date.parse(history[0]?.createdAt ?? '');
  return history.map(({ toState, trigger, createdAt }) => {
    const seconds = ((Date.parse(createdAt) - began) / 1_000).toFixed(1);
    return `${seconds.padStart(6)} s  ${toState.padEnd(15)} ${trigger}`;
  });
}
