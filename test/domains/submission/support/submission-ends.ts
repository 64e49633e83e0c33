import type pg from 'pg';
import { CRITERIA } from '../../../../src/domains/submission/core/judgement/judgement.js';
import { cancelItem } from '../../../../src/db/spine/control.js';
import { decideItem } from '../../../../src/db/spine/decide-item.js';
import { exhaustItem } from '../../../../src/db/recovery/give-up.js';
import { keepContent } from '../../../../src/domains/submission/db/skill-contents.js';
import { publishSkill } from '../../../../src/domains/submission/db/skills.js';
import { saveJudgement, saveScan } from '../../../../src/domains/submission/db/submissions.js';
import { type ItemError, SYSTEM } from '../../../../src/db/spine/transition.js';
import { submission } from '../../../../src/domains/submission/table.js';
import type { Judgement } from '../../../../src/domains/submission/ports/judge.js';
import type { ScanResult } from '../../../../src/domains/submission/ports/skill-scanner.js';
import { itemOf } from '../../../support/facts.js';
import { AUTOMATIC, skillOf } from './skills.js';
import { byHand, findIn, ROOT } from '../../../support/spine.js';

export const SCAN: ScanResult = {
  verdict: 'fail',
  durationMs: 12,
  findings: [
    {
      ...{ id: 'remote-execution.pipe-to-shell', name: 'Runs what it downloads', severity: 'critical' },
      ...{
        category: 'remote-execution',
        file: 'scripts/set-up.sh',
        line: 7,
        match: 'curl … | sh',
        context: 'curl … | sh',
      },
      remedy: 'Ship the script with the skill.',
    },
  ],
};

export const JUDGEMENT: Judgement = {
  score: 41,
  criteria: Object.fromEntries(CRITERIA.map((each) => [each, 5])) as Judgement['criteria'],
  limits: [],
  concerns: [
    { criterion: 'leastPrivilege', text: 'It reads every key.', quote: { file: 'SKILL.md', line: 12, text: 'keys' } },
  ],
  privileges: [],
  model: 'rules-v1',
};

const REASON = 'It deletes the home folder.';

/** Every way in which a submission ends, taken by the product's own functions. */
export function waysToEnd(pool: pg.Pool) {
  const hand = byHand(pool, submission);
  const find = findIn(submission);
  const { walk } = hand;

  async function spend(id: string, stage: string, error: Partial<ItemError>): Promise<void> {
    const claimed = await hand.claimed(id, { stage });
    const whole: ItemError = { class: 'NETWORK_ERROR', message: 'connect ECONNREFUSED 10.1.2.3:443', stage, ...error };
    await hand.commit(claimed, { is: 'spent', error: whole });
  }

  async function judge(id: string, outcome: 'pass' | 'concerns' | 'fail'): Promise<void> {
    await walk(id, 'checkVendor:other', 'fetch', 'scanTier1:pass');
    const save = saveJudgement(id, 'rules-v1', JUDGEMENT);
    await hand.commit(await hand.claimed(id, { stage: 'judgeTier2' }), { is: 'done', outcome, save });
  }

  async function decide(id: string, outcome: string, reason?: string): Promise<void> {
    const { state } = await itemOf(pool, id);
    await decideItem(pool, find, { id: `${id}:${state}`, itemId: id, actor: ROOT, outcome, reason });
  }

  return {
    async 'tier1-fail'(id) {
      await walk(id, 'checkVendor:other', 'fetch');
      const claimed = await hand.claimed(id, { stage: 'scanTier1' });
      await hand.commit(claimed, { is: 'done', outcome: 'fail', save: saveScan(SCAN) });
    },
    async 'tier1-timeout'(id) {
      await walk(id, 'checkVendor:other', 'fetch');
      await spend(id, 'scanTier1', { class: 'SCAN_TIMEOUT' });
    },
    async 'fetch-failed'(id) {
      await walk(id, 'checkVendor:other');
      await spend(id, 'fetch', { class: 'BAD_INPUT', message: 'ref names no branch; leave it out' });
    },
    'tier2-fail': (id) => judge(id, 'fail'),
    async 'admin-reject'(id) {
      await judge(id, 'concerns');
      await decide(id, 'reject', REASON);
    },
    async 'review-reject'(id) {
      await judge(id, 'concerns');
      await decide(id, 'escalate');
      await decide(id, 'reject', REASON);
    },
    async 'stuck-exhausted'(id) {
      await judge(id, 'pass');
      const { epoch, version } = await itemOf(pool, id);
      const cause = { reason: 'worker_died', sentence: 'worker-1 died.' };
      await exhaustItem(pool, find, { itemId: id, actor: SYSTEM, seen: epoch, seenVersion: version, cause });
    },
    async poison(id) {
      await walk(id, 'checkVendor:other');
      await hand.poison(id, { stage: 'fetch' });
    },
    async cancelled(id) {
      await cancelItem(pool, find, { itemId: id, actor: ROOT, reason: 'asked for by mistake' });
    },
    async published(id) {
      await judge(id, 'pass');
      await hand.commit(await hand.claimed(id, { stage: 'publish' }), {
        is: 'done',
        outcome: 'done',
        async save(transaction) {
          await keepContent(transaction, id, skillOf(`# Use\nOf ${id}.`));
          return publishSkill(transaction, id, AUTOMATIC);
        },
      });
    },
  } satisfies Record<string, (id: string) => Promise<void>>;
}

export type WayToEnd = keyof ReturnType<typeof waysToEnd>;

export const REJECTIONS = [
  ...(['tier1-fail', 'tier1-timeout', 'fetch-failed', 'tier2-fail', 'admin-reject', 'review-reject'] as const),
  ...(['stuck-exhausted', 'poison', 'cancelled'] as const),
] satisfies WayToEnd[];
