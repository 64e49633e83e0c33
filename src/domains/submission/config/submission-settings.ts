import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { z } from 'zod';
import { stageOf } from '../../../core/machine.js';
import { msOf } from '../../../core/span.js';
import { DEFAULT_THRESHOLDS } from '../core/judgement/judgement.js';
import { submission } from '../table.js';
import { isPrivateWay, isThisMachine } from '../../../config/private-way.js';
import type { Tables } from '../../../config/settings-part.js';
import { list, oneOf, text, webUrl, whole } from '../../../config/values.js';

/** Organisations on github.com whose skills are taken on trust. */
const VENDORS = ['anthropics', 'openai', 'google', 'google-gemini', 'vercel-labs', 'supabase', 'microsoft'] as const;

const gitHosts = list('hosts with commas between them, such as github.com,git.example.com:8443', (entry) =>
  /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i.test(entry),
);

const vendorNames = list('names with commas between them, such as openai,git.example.com/team', (entry) =>
  /^(?:[a-z0-9.:-]+\/)?[\w.-]+$/i.test(entry),
);

/** The time that a stage needs besides the judge's, for reading the skill and the stored facts. */
const SLOW_DATABASE_MS = 10_000;

/** Where skills come from, and who judges them. */
export const submissionVariables = {
  JUDGE_PROVIDER: oneOf('openai-compatible', 'anthropic').optional(),
  JUDGE_URL: webUrl.optional(),
  JUDGE_API_KEY: z.string().optional(),
  // The name of the built-in rules is never a model's.
  JUDGE_MODEL: text('the name of a model', (value) => !/^rules-/i.test(value)).optional(),
  JUDGE_RULES_MAY_APPROVE: oneOf('true', 'false').default('false'),
  JUDGE_ANSWER_FORMAT: oneOf('json_schema', 'json_object', 'none').default('json_schema'),
  // Twice the time in which nineteen of twenty judgements must be made. A model that has not answered by then hangs. A
  // timeout longer than the stage's own would never be reached.
  JUDGE_TIMEOUT_MS: whole(100, msOf(stageOf(submission, 'judgeTier2').row.within) - SLOW_DATABASE_MS).default(60_000),

  SUBMISSION_HOSTS: gitHosts.default(['github.com']),
  SUBMISSION_VENDORS: vendorNames.default([...VENDORS]),
  SUBMISSION_ALLOW_PRIVATE: oneOf('true', 'false').default('false'),
  SUBMISSION_ALLOW_LOCAL: oneOf('true', 'false').optional(),
  SUBMISSION_TEMP_DIR: z.string().optional(),
  // No more than the stage's own limit, less the time that a slow database needs.
  SUBMISSION_FETCH_TIMEOUT_MS: whole(1_000, 60_000).default(60_000),
  // The scan's structure rules let no larger skill pass. No published skill has as many files.
  SUBMISSION_MAX_BYTES: whole(1_024, 512_000).default(512_000),
  SUBMISSION_MAX_FILES: whole(1, 500).default(500),
  // Twenty times what a scan takes, so only a hostile file or an overloaded machine gets there.
  SUBMISSION_SCAN_TIMEOUT_MS: whole(1_000, 60_000).default(10_000),
  // A scan of the largest skill takes less than a third of a gigabyte.
  SUBMISSION_SCAN_MEMORY_MB: whole(256, 16_384).default(1_024),
  // From 1, because the best score that leaves a skill to a person, or refuses it, lies one below. Four of five points show a skill
  // with at most a small fault, and fewer than three of five a skill that no reviewer should have to mend.
  SUBMISSION_APPROVE_SCORE: whole(1, 100).default(DEFAULT_THRESHOLDS.approve),
  SUBMISSION_REVIEW_SCORE: whole(1, 100).default(DEFAULT_THRESHOLDS.review),
};

type Given = z.output<z.ZodObject<typeof submissionVariables>>;

/** The settings that decide whether folders of this machine may be submitted. */
type GivenPlace = Given & { NODE_ENV: string; HOST: string; DATABASE_URL?: string | undefined };

export function submissionOf(given: GivenPlace, projectRoot: string) {
  return {
    address: {
      hosts: given.SUBMISSION_HOSTS,
      allowPrivate: given.SUBMISSION_ALLOW_PRIVATE === 'true',
      allowLocal: given.SUBMISSION_ALLOW_LOCAL === undefined ? isTrial(given) : given.SUBMISSION_ALLOW_LOCAL === 'true',
    },
    vendors: given.SUBMISSION_VENDORS,
    fetch: {
      timeoutMs: given.SUBMISSION_FETCH_TIMEOUT_MS,
      maxBytes: given.SUBMISSION_MAX_BYTES,
      maxFiles: given.SUBMISSION_MAX_FILES,
    },
    scan: { timeoutMs: given.SUBMISSION_SCAN_TIMEOUT_MS, maxBytes: given.SUBMISSION_SCAN_MEMORY_MB * 1_024 ** 2 },
    thresholds: { approve: given.SUBMISSION_APPROVE_SCORE, review: given.SUBMISSION_REVIEW_SCORE },
    temporaryFolder: resolve(projectRoot, given.SUBMISSION_TEMP_DIR ?? tmpdir()),
  };
}

/** Whether everything runs on one machine, for the person who sits at it. Only there may a folder of the machine be
 *  submitted. */
function isTrial({ NODE_ENV, HOST, DATABASE_URL }: GivenPlace): boolean {
  return NODE_ENV === 'development' && DATABASE_URL === undefined && isThisMachine(HOST);
}

/** Null: the built-in rules judge. `judgeProblemsIn` has checked that settings which belong together are all there. */
export function judgeOf(given: Given) {
  const { JUDGE_PROVIDER: provider, JUDGE_URL: url, JUDGE_API_KEY: apiKey, JUDGE_MODEL: model = '' } = given;
  const both = { model, timeoutMs: given.JUDGE_TIMEOUT_MS };
  switch (provider) {
    case undefined:
      return null;
    case 'anthropic':
      return { provider, url: url ?? 'https://api.anthropic.com/v1', apiKey: apiKey ?? '', ...both };
    case 'openai-compatible':
      return { provider, url: url ?? '', apiKey, answerFormat: given.JUDGE_ANSWER_FORMAT, ...both };
  }
}

/** A judge that is set up by half would fail every skill. */
export function judgeProblemsIn(given: Given): string[] {
  const provider = given.JUDGE_PROVIDER;
  if (provider === undefined) {
    const lonely = (['JUDGE_URL', 'JUDGE_API_KEY', 'JUDGE_MODEL'] as const).find((name) => given[name] !== undefined);
    return lonely ? [`JUDGE_PROVIDER: expected beside ${lonely}, so that a model is asked, got none`] : [];
  }
  const isBare = given.JUDGE_API_KEY !== undefined && given.JUDGE_URL !== undefined && !isPrivateWay(given.JUDGE_URL);
  const needed = ['JUDGE_MODEL', provider === 'anthropic' ? 'JUDGE_API_KEY' : 'JUDGE_URL'] as const;
  return [
    ...needed
      .filter((name) => given[name] === undefined)
      .map((name) => `${name}: expected with JUDGE_PROVIDER=${provider}, got none`),
    ...(isBare
      ? ['JUDGE_URL: expected https:// beside JUDGE_API_KEY, or this machine, so that nobody reads the key']
      : []),
  ];
}

/** Between the two scores a person decides, and at equal scores there would be no such score. */
export function scoreProblemsIn({ SUBMISSION_APPROVE_SCORE, SUBMISSION_REVIEW_SCORE }: Given): string[] {
  if (SUBMISSION_REVIEW_SCORE < SUBMISSION_APPROVE_SCORE) return [];
  const expected = `less than SUBMISSION_APPROVE_SCORE, ${SUBMISSION_APPROVE_SCORE}`;
  return [`SUBMISSION_REVIEW_SCORE: expected ${expected}, got ${SUBMISSION_REVIEW_SCORE}`];
}

/** A stage that may take less than the call that it waits for would end before the call's own limit is reached. */
export function stageTimeProblemsIn(given: Given, { submission: table }: Tables): string[] {
  if (!table) return [];
  const calls = [
    ...(given.JUDGE_PROVIDER ? [['judgeTier2', 'JUDGE_TIMEOUT_MS'] as const] : []),
    ['fetch', 'SUBMISSION_FETCH_TIMEOUT_MS'] as const,
    ['fetchVendor', 'SUBMISSION_FETCH_TIMEOUT_MS'] as const,
    ['scanTier1', 'SUBMISSION_SCAN_TIMEOUT_MS'] as const,
  ];
  return calls.flatMap(([stage, call]) => {
    const { within } = stageOf(table, stage).row;
    const leastMs = given[call] + SLOW_DATABASE_MS;
    if (msOf(within) >= leastMs) return [];
    const why = `which is ${call} and ${SLOW_DATABASE_MS} ms for a slow database`;
    return [`SUBMISSION_STAGE_WITHIN: expected at least ${leastMs}ms for ${stage}, ${why}, got ${within}`];
  });
}

/** A submitter can read every repository on this machine that the workers can read. Strangers must not be able to do
 *  so. */
export function localFolderProblemsIn(given: GivenPlace): string[] {
  if (given.SUBMISSION_ALLOW_LOCAL !== 'true') return [];
  const why = "because submitters can then read this machine's repositories";
  return [
    ...(given.NODE_ENV === 'production'
      ? [`SUBMISSION_ALLOW_LOCAL: expected false in production, ${why}, got 'true'`]
      : []),
    ...(isThisMachine(given.HOST)
      ? []
      : [`HOST: expected this machine alone beside SUBMISSION_ALLOW_LOCAL=true, ${why}, got '${given.HOST}'`]),
  ];
}
