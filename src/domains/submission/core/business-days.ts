const DAY_MS = 86_400_000;

/** Saturday and Sunday, in UTC, are not business days. Holidays are, because they differ from place to place. */
function isBusinessDay(dayStartMs: number): boolean {
  const weekday = new Date(dayStartMs).getUTCDay();
  return weekday !== 0 && weekday !== 6;
}

function startOfDay(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS;
}

/** The business days between two moments, with fractions. */
export function businessDaysBetween(from: Date, to: Date): number {
  let elapsedMs = 0;
  for (let day = startOfDay(from.getTime()); day < to.getTime(); day += DAY_MS) {
    if (!isBusinessDay(day)) continue;
    elapsedMs += Math.min(day + DAY_MS, to.getTime()) - Math.max(day, from.getTime());
  }
  return elapsedMs / DAY_MS;
}

/** The moment at which `days` business days have passed. Time that begins on a weekend counts from Monday on. */
export function addBusinessDays(from: Date, days: number): Date {
  let leftMs = days * DAY_MS;
  let at = from.getTime();
  for (;;) {
    const end = startOfDay(at) + DAY_MS;
    const restMs = isBusinessDay(startOfDay(at)) ? end - at : 0;
    if (restMs > 0 && restMs >= leftMs) return new Date(at + leftMs);
    leftMs -= restMs;
    at = end;
  }
}
