import { isWholeJudgement } from '../core/judgement/judgement.js';
import type { Ended } from '../core/verdict/rejection.js';
import { isWholeFinding } from '../core/verdict/scan-verdict.js';
import type { Standing } from '../core/verdict/submission-status.js';
import type { Judgement } from '../ports/judge.js';
import type { ScanResult } from '../ports/skill-scanner.js';
import type { Sql } from '../../../ports/sql.js';

/** The state of a submission, with the facts that its owner may know. */
export interface SubmissionStatus extends Standing {
  id: string;
  skillName: string;
  createdAt: Date;
  /** When the submission entered its state. */
  movedAt: Date;
}

interface Row extends Omit<SubmissionStatus, 'end' | 'published'> {
  trigger: string;
  said: string | null;
  version: string | null;
  needed: number | null;
  name: string | null;
  error: Ended['error'];
  tier1: ScanResult | null;
  tier2: Judgement | null;
}

/** Null: the submission does not exist. */
export async function findStatus(sql: Sql, id: string): Promise<SubmissionStatus | null> {
  const { rows } = await sql.query<Row>(
    `SELECT i.id, s.skill_name AS "skillName", i.state, i.ended_at IS NOT NULL AS "isEnded",
       i.created_at AS "createdAt", a.at AS "movedAt", a.trigger, a.metadata ->> 'reason' AS said,
       a.metadata ->> 'version' AS version, (a.metadata -> 'needed')::int AS needed, k.name, s.tier1, s.tier2,
       CASE WHEN i.error_class IS NOT NULL THEN jsonb_build_object('class', i.error_class, 'message', COALESCE(i.error_message, ''),
         'stage', COALESCE(i.error_stage, '')) END AS error
     FROM items i JOIN submissions s ON s.id = i.id
     JOIN LATERAL (SELECT * FROM audit WHERE item_id = i.id AND to_state = i.state AND from_state IS DISTINCT FROM to_state
       ORDER BY id DESC LIMIT 1) a ON true
     LEFT JOIN skills k ON k.id = (a.metadata ->> 'skillId')::uuid
     WHERE i.id = $1`,
    [id],
  );
  return rows[0] ? statusOf(rows[0]) : null;
}

function statusOf({ trigger, said, version, needed, name, error, tier1, tier2, ...row }: Row): SubmissionStatus {
  return {
    ...row,
    // An older version may have stored findings and judgements of another shape.
    end: {
      trigger,
      said,
      error,
      findings: (tier1?.findings ?? []).filter(isWholeFinding),
      judgement: isWholeJudgement(tier2) ? tier2 : null,
      needed,
    },
    published: name !== null && version !== null ? { name, version } : null,
  };
}
