import { createHash } from 'node:crypto';
import { AppError } from '../../core/errors.js';
import { type Verdict, verdictOf } from '../../core/judgement.js';
import type { Certification } from '../../db/skills.js';
import { saveJudgement, saveScan, saveVendor, type SubmissionRow } from '../../db/submissions.js';
import type { submission } from '../../pipelines/submission.js';
import type { Judge, Judgement } from '../../ports/judge.js';
import type { Skill, SkillFile, SkillSource } from '../../ports/skill.js';
import type { Finding, SkillScanner } from '../../ports/skill-scanner.js';
import type { Sql } from '../../ports/sql.js';
import type { JsonObject, StageContext, Stages } from '../../ports/stage.js';

export interface SubmissionDeps {
  find(id: string): Promise<SubmissionRow>;
  findFiles(contentHash: string): Promise<SkillFile[] | null>;
  findJudgement(contentHash: string, key: string): Promise<Judgement | null>;
  keepContent(transaction: Sql, submissionId: string, skill: Skill): Promise<void>;
  publish(transaction: Sql, submissionId: string, certification: Certification): Promise<JsonObject>;
  /** The organisation whose repository this is, if it is one that is trusted. */
  vendorOf(repoUrl: string): string | null;
  source: SkillSource;
  scanner: SkillScanner;
  judge: Judge;
}

const OUTCOMES = { approve: 'pass', review: 'concerns', reject: 'fail' } as const satisfies Record<Verdict, string>;

export function submissionStages(deps: SubmissionDeps): Stages<typeof submission> {
  return {
    async checkVendor({ item }) {
      const { repoUrl } = await deps.find(item.id);
      const org = deps.vendorOf(repoUrl);
      return org === null
        ? { outcome: 'other', save: saveVendor(false) }
        : { outcome: 'vendor', note: { org }, save: saveVendor(true) };
    },

    async fetch(context) {
      const skill = await fetchSkill(deps, context);
      return {
        outcome: 'done',
        note: { commit: skill.commit, contentHash: skill.contentHash },
        save: (transaction) => deps.keepContent(transaction, context.item.id, skill),
      };
    },

    async scanTier1({ item, signal }) {
      const { files } = await fetchedSkill(deps, item.id);
      const result = await deps.scanner.scan(files, signal);
      const duration_ms = Math.round(result.durationMs);
      return result.verdict === 'pass'
        ? { outcome: 'pass', note: { findings: result.findings.length, duration_ms }, save: saveScan(result) }
        : { outcome: 'fail', note: { findings: result.findings.map(briefly), duration_ms }, save: saveScan(result) };
    },

    async judgeTier2({ item, signal }) {
      const skill = await fetchedSkill(deps, item.id);
      const key = judgementKey(deps.judge, skill.findings);
      const known = await deps.findJudgement(skill.contentHash, key);
      const judgement = known ?? (await deps.judge.judge(skill, skill.findings, signal));
      const { score, model } = judgement;
      const concerns = [
        ...judgement.limits.map(({ because }) => because),
        ...judgement.concerns.map(({ text }) => text),
      ];
      return {
        outcome: OUTCOMES[verdictOf(judgement)],
        note: { score, model, ...(concerns.length > 0 && { concerns }) },
        save: saveJudgement(item.id, key, judgement),
      };
    },

    publish: ({ item }) =>
      Promise.resolve({
        outcome: 'done',
        save: (transaction) => deps.publish(transaction, item.id, { tier: 'tier2', method: 'automatic' }),
      }),

    async publishVendor(context) {
      const skill = await fetchSkill(deps, context);
      return {
        outcome: 'done',
        async save(transaction) {
          await deps.keepContent(transaction, context.item.id, skill);
          return deps.publish(transaction, context.item.id, { tier: 'vendor', method: 'vendor' });
        },
      };
    },
  };
}

async function fetchSkill(deps: SubmissionDeps, { item, signal, progress }: StageContext): Promise<Skill> {
  const address = await deps.find(item.id);
  progress({ fetching: address.repoUrl });
  return deps.source.fetch(address, signal);
}

/** What the stages before have left; a submission that comes here without it was not fetched. */
async function fetchedSkill(deps: SubmissionDeps, id: string) {
  const { contentHash, commit, tier1 } = await deps.find(id);
  const files = contentHash === null ? null : await deps.findFiles(contentHash);
  if (contentHash === null || files === null) {
    throw new AppError('internal', 'the fetched content is gone; retry the submission from TIER1_SCANNING');
  }
  return { contentHash, commit: commit ?? '', files, findings: tier1?.findings ?? [] };
}

/** What a judgement of one content depends on besides: who judges, and what the scan found, which newer rules may change. */
function judgementKey({ version }: Judge, findings: readonly Finding[]): string {
  const digest = createHash('sha256').update(JSON.stringify(findings)).digest('hex');
  return `${version} ${digest}`;
}

/** For the audit entry: the whole finding is in the scan's result. */
function briefly({ id, severity, file, line }: { id: string; severity: string; file: string; line: number | null }) {
  return { id, severity, file, line };
}
