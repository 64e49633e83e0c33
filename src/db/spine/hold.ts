/** The end of a hold that is over: `now()`, rounded to the column's milliseconds, may lie half of one ahead. */
export const OVER = `now() - interval '1 ms'`;

/** What holds the item of a row `i`: a pause of its pipeline first, for only a person ends that; then a breaker that holds the
 *  stage it waits for, until that lets somebody through. A run that has ended can't come for its place: once one is free, the
 *  item is no longer held, or a sweep would leave it and nobody would ever try. */
export const HOLD_OF_ITEM = `
  SELECT h.kind, h.key, COALESCE(b.next_pass_at, h.until) AS until, h.reason
  FROM holds h LEFT JOIN breakers b ON h.kind = 'breaker' AND b.pipeline = h.pipeline AND b.class = h.key
  WHERE h.pipeline = i.pipeline AND h.until > now() AND (h.kind = 'pause' OR (
    (i.run_ended_at IS NULL OR b.next_pass_at > now()) AND EXISTS (
      SELECT 1 FROM tasks t
      WHERE t.item_id = i.id AND t.visit = i.visit AND t.status = 'waiting' AND t.stage = ANY (b.stages))))
  ORDER BY h.kind = 'pause' DESC, b.next_pass_at DESC LIMIT 1`;
