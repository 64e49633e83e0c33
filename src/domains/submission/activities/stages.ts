import { SUBMISSION_CODES } from '../errors.js';
import { createHash } from 'node:crypto';
import { AppError, isAppError } from '../../../core/errors.js';
import { isWholeJudgement, type JudgeVerdict, judgeVerdictOf, NO_MODEL_CONCERN } from '../core/judgement/judgement.js';
import type { Certification } from '../db/skills.js';
import { saveJudgement, saveScan, saveVendor, type SubmissionRow } from '../db/submissions.js';
import type { submission } from '../table.js';
import type { Judge, Judgement } from '../ports/judge.js';
import type { Skill, SkillFile, SkillSource } from '../ports/skill.js';
import type { ScanFinding, SkillScanner } from '../ports/skill-scanner.js';
import type { Sql } from '../../../ports/sql.js';
import type { JsonObject, StageContext, Stages } from '../../../ports/stage.js';

export interface SubmissionDeps {
  find(id: string): Promise<SubmissionRow>;
  findFiles(contentHash: string): Promise<SkillFile[] | null>;
  findJudgement(contentHash: string, key: string): Promise<Judgement | null>;
  keepContent(transaction: Sql, submissionId: string, skill: Skill): Promise<void>;
  publish(transaction: Sql, submissionId: string, certification: Certification): Promise<JsonObject>;
  /** The trusted organisation that owns the repository. Null: no trusted organisation owns it. */
  vendorOf(repoUrl: string): string | null;
  source: SkillSource;
  scanner: SkillScanner;
  judge: Judge;
  /** Whether a skill that the judge approves is published without a person. */
  mayJudgeApprove: boolean;
}

const OUTCOMES = { approve: 'pass', review: 'concerns', reject: 'fail' } as const satisfies Record<
  JudgeVerdict,
  string
>;

export function submissionStages(deps: SubmissionDeps): Stages<typeof submission> {
  return {
    async checkVendor({ item }) {
      const { repoUrl } = await deps.find(item.id);
      const org = deps.vendorOf(repoUrl);
      return org === null
        ? { outcome: 'other', save: saveVendor(false) }
        : { outcome: 'vendor', note: { org }, save: saveVendor(true) };
    },

    fetch: (context) => fetchAndKeep(deps, context),

    async scanTier1({ item, signal, progress }) {
      const { files } = await findFetchedSkill(deps, item.id);
      const result = await deps.scanner.scan(files, signal, (ahead) => {
        progress(ahead > 0 ? { waitsBehind: ahead } : { scanning: files.length });
      });
      const duration_ms = Math.round(result.durationMs);
      return result.verdict === 'pass'
        ? { outcome: 'pass', note: { findings: result.findings.length, duration_ms }, save: saveScan(result) }
        : {
            outcome: 'fail',
            note: { findings: result.findings.map(placeAndSeverityOf), duration_ms },
            save: saveScan(result),
          };
    },

    async judgeTier2({ item, signal }) {
      const skill = await findFetchedSkill(deps, item.id);
      const key = judgementKey(deps.judge, skill.findings);
      const known = await deps.findJudgement(skill.contentHash, key);
      // A judgement that an older version kept, and this version can't read, is made anew.
      const judgement = known && isWholeJudgement(known) ? known : await askJudge(deps.judge, skill, signal);
      if ('declined' in judgement) return { outcome: 'unjudged', note: { reason: judgement.declined } };
      const { score, model } = judgement;
      const verdict = judgeVerdictOf(judgement, deps.judge.thresholds);
      // Never stored with the judgement, because the setting may change before the judgement is used again.
      const isLeftToPerson = verdict === 'approve' && !deps.mayJudgeApprove;
      const outcome = OUTCOMES[isLeftToPerson ? 'review' : verdict];
      const concerns = [
        ...(isLeftToPerson ? [NO_MODEL_CONCERN] : []),
        ...judgement.limits.map(({ because }) => because),
        ...judgement.concerns.map(({ text }) => text),
      ];
      return {
        outcome,
        // A reviewer is also told that there are no concerns: the skill has large privileges, and the judge found no
        // fault.
        note: {
          ...{ score, model, ...((outcome === 'concerns' || concerns.length > 0) && { concerns }) },
          // The rejection names the score that was needed when the skill was judged. The setting may change later.
          ...(outcome === 'fail' && { needed: deps.judge.thresholds.review }),
        },
        save: saveJudgement(item.id, key, judgement),
      };
    },

    publish: ({ item }) =>
      Promise.resolve({
        outcome: 'done',
        save: (transaction) => deps.publish(transaction, item.id, { tier: 'tier2', method: 'automatic' }),
      }),

    fetchVendor: (context) => fetchAndKeep(deps, context),

    publishVendor: ({ item }) =>
      Promise.resolve({
        outcome: 'done',
        save: (transaction) => deps.publish(transaction, item.id, { tier: 'vendor', method: 'vendor' }),
      }),
  };
}

async function fetchAndKeep(deps: SubmissionDeps, context: StageContext) {
  const skill = await fetchSkill(deps, context);
  return {
    outcome: 'done' as const,
    note: { commit: skill.commit, contentHash: skill.contentHash },
    save: (transaction: Sql) => deps.keepContent(transaction, context.item.id, skill),
  };
}

/** A judge that can't judge this content gives no verdict, and is not asked again: a person is. */
async function askJudge(
  judge: Judge,
  skill: FetchedSkill,
  signal: AbortSignal,
): Promise<Judgement | { declined: string }> {
  try {
    return await judge.judge(skill, skill.findings, signal);
  } catch (error) {
    if (isAppError(error) && error.code === SUBMISSION_CODES.judge_declined.code) return { declined: error.message };
    throw error;
  }
}

async function fetchSkill(deps: SubmissionDeps, { item, signal, progress }: StageContext): Promise<Skill> {
  const address = await deps.find(item.id);
  progress({ fetching: address.repoUrl });
  return deps.source.fetch(address, signal);
}

type FetchedSkill = Skill & { findings: readonly ScanFinding[] };

/** Finds the content that earlier stages stored. A submission without it was not fetched. */
async function findFetchedSkill(deps: SubmissionDeps, id: string): Promise<FetchedSkill> {
  const { contentHash, commit, tier1 } = await deps.find(id);
  const files = contentHash === null ? null : await deps.findFiles(contentHash);
  if (contentHash === null || files === null) {
    throw new AppError('internal', 'the fetched content is gone; retry the submission from TIER1_SCANNING');
  }
  return { contentHash, commit: commit ?? '', files, findings: tier1?.findings ?? [] };
}

/** The key of a judgement besides the content: the judge's version, the thresholds and the findings of the scan, which newer rules
 *  may change. The limits of a judgement lie just below the thresholds, so under lower ones a skill that a person must see would be
 *  approved. */
function judgementKey({ version, thresholds }: Judge, findings: readonly ScanFinding[]): string {
  const digest = createHash('sha256').update(JSON.stringify(findings)).digest('hex');
  return `${version}:${thresholds.approve}-${thresholds.review} ${digest}`;
}

/** The part of a finding that the audit entry keeps. The whole finding is in the scan's result. */
function placeAndSeverityOf({
  id,
  severity,
  file,
  line,
}: {
  id: string;
  severity: string;
  file: string;
  line: number | null;
}) {
  return { id, severity, file, line };
}
