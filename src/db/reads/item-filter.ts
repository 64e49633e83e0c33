import type { Parameters } from '../postgres/parameters.js';
import { REASON_HOLDS } from '../recovery/swept-reason.js';

export interface ItemFilter {
  owner?: string | undefined;
  pipeline?: string | undefined;
  state?: string | undefined;
  /** The class of the item's present error. */
  error?: string | undefined;
  /** The beginning of an id; or an owner, a dedupe key, an end reason, or a part of the error message. */
  q?: string | undefined;
  /** The item was created at least so long ago. */
  ageMs?: number | undefined;
  live?: boolean | undefined;
  /** The reason that the last sweep found for the item's silence, if it still holds. */
  swept?: string | undefined;
  /** The pipelines that can have such items. The indexes of states and of reasons begin with the pipeline, so they must be
   *  named. */
  pipelines?: readonly string[];
}

/** The conditions that an index answers. Each branch is one ordered range of an index. Live and ended rows of a
 *  pipeline have separate indexes. */
export function branchesOf(filter: ItemFilter, p: Parameters): string[][] {
  const common = [...idRangeOf(filter, p), ...(filter.live === undefined ? [] : [livenessOf(filter.live)])];
  if (filter.owner !== undefined) return [[`owner = ${p.add(filter.owner)}`, ...common]];
  if (filter.error !== undefined) return [[`error_class = ${p.add(filter.error)}`, ...common]];
  const names = filter.pipeline === undefined ? (filter.pipelines ?? []) : [filter.pipeline];
  if (names.length === 0) return [['true', ...common]];
  const halves = filter.live === undefined ? [livenessOf(true), livenessOf(false)] : [livenessOf(filter.live)];
  return names.flatMap((name) =>
    halves.map((half) => {
      return [`pipeline = ${p.add(name)}`, ...keyOf(filter, p), half, ...common];
    }),
  );
}

/** The column after the pipeline in the index that leads to the rows. The condition on a reason repeats the index predicate, because the
 *  planner does not infer it. */
function keyOf({ swept, state }: ItemFilter, p: Parameters): string[] {
  if (swept !== undefined) return [`reason = ${p.add(swept)}`, 'reason IS NOT NULL'];
  return state === undefined ? [] : [`state = ${p.add(state)}`];
}

/** The whole filter as a condition on each examined row `i`. */
export function hitOf(filter: ItemFilter, p: Parameters): string {
  const conditions = ['true'];
  if (filter.owner !== undefined) conditions.push(`i.owner = ${p.add(filter.owner)}`);
  if (filter.pipeline !== undefined) conditions.push(`i.pipeline = ${p.add(filter.pipeline)}`);
  if (filter.state !== undefined) conditions.push(`i.state = ${p.add(filter.state)}`);
  if (filter.error !== undefined) conditions.push(`COALESCE(i.error_class = ${p.add(filter.error)}, false)`);
  if (filter.swept !== undefined) conditions.push(`i.reason = ${p.add(filter.swept)} AND ${REASON_HOLDS}`);
  if (filter.ageMs !== undefined) {
    conditions.push(`i.created_at <= now() - ${p.add(filter.ageMs)} * interval '1 millisecond'`);
  }
  if (filter.q !== undefined && !isIdPrefix(filter.q)) conditions.push(wordsOf(filter.q, p));
  return conditions.join(' AND ');
}

/** Whether every row of the branches fits the filter, so that no more rows need be examined than are wanted. */
export function isExact(filter: ItemFilter): boolean {
  const { owner, pipeline, state, error, q, ageMs, swept } = filter;
  if (swept !== undefined || ageMs !== undefined || (q !== undefined && !isIdPrefix(q))) return false;
  if (state !== undefined && pipeline === undefined && !filter.pipelines?.length) return false;
  return [owner, error, pipeline ?? state].filter((each) => each !== undefined).length <= 1;
}

function livenessOf(live: boolean): string {
  return live ? 'ended_at IS NULL' : 'ended_at IS NOT NULL';
}

function isIdPrefix(q: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f-]{0,27})?$/i.test(q);
}

/** An id begins with the time at which it was made. The clock of an API process may differ from the database's by up to
 *  an hour. */
const CLOCK_SLACK_MS = 3_600_000;

function idRangeOf({ q, ageMs }: ItemFilter, p: Parameters): string[] {
  const range: string[] = [];
  if (q !== undefined && isIdPrefix(q)) {
    range.push(`id BETWEEN ${p.add(padTo(q, '0'))}::uuid AND ${p.add(padTo(q, 'f'))}::uuid`);
  }
  if (ageMs !== undefined) {
    const latest = Math.max(0, Date.now() - ageMs + CLOCK_SLACK_MS)
      .toString(16)
      .padStart(12, '0');
    range.push(`id < ${p.add(padTo(latest, 'f'))}::uuid`);
  }
  return range;
}

function padTo(prefix: string, digit: string): string {
  return prefix.replaceAll('-', '').padEnd(32, digit).slice(0, 32);
}

function wordsOf(q: string, p: Parameters): string {
  const exact = p.add(q);
  const within = p.add(`%${q.replace(/[\\%_]/g, '\\$&')}%`);
  return `(i.owner = ${exact} OR COALESCE(i.dedupe_key = ${exact} OR i.end_reason = ${exact}, false)
    OR COALESCE(i.error_message ILIKE ${within}, false))`;
}
