/** Milliseconds that a `retry-after` header asks for: seconds or a date (RFC 9110, 10.2.3). */
export function retryAfterMsOf(header: string | undefined): number | undefined {
  const given = header?.trim();
  if (given === undefined) return undefined;
  if (/^\d{1,9}$/.test(given)) return Number(given) * 1_000;
  // `Date.parse` takes many texts for dates, -5 among them.
  const at = given.endsWith(' GMT') ? Date.parse(given) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}
