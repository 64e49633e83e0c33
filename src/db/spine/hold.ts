/** The end of a hold that is over. `now()` itself, rounded to the column's milliseconds, may lie half a millisecond ahead. */
export const OVER = `now() - interval '1 ms'`;

/** The hold of the item of a row `i`: first a pause of its pipeline, because only a person ends a pause; then a breaker that holds the
 *  stage that the item waits for, until the breaker lets an item through. A run that has ended can't come for a place. Its item is no
 *  longer held once a place is free, or every sweep would leave the item alone and nobody would ever try it. */
export const HOLD_OF_ITEM = `
  SELECT h.kind, h.key, COALESCE(b.next_pass_at, h.until) AS until, h.reason
  FROM holds h LEFT JOIN breakers b ON h.kind = 'breaker' AND b.pipeline = h.pipeline AND b.class = h.key
  WHERE h.pipeline = i.pipeline AND h.until > now() AND (h.kind = 'pause' OR (
    (i.run_ended_at IS NULL OR b.next_pass_at > now()) AND EXISTS (
      SELECT 1 FROM tasks t
      WHERE t.item_id = i.id AND t.visit = i.visit AND t.status = 'waiting' AND t.stage = ANY (b.stages))))
  ORDER BY h.kind = 'pause' DESC, b.next_pass_at DESC LIMIT 1`;

/** The name of a hold in `items.held_by`, as SQL. */
export function holdName(row: string): string {
  return `concat_ws(':', ${row}.kind, nullif(${row}.key, ''))`;
}

export const PAUSE_NAME = 'pause';

export function breakerName(errorClass: string): string {
  return `breaker:${errorClass}`;
}
