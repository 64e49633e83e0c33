const MS_PER_UNIT = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A length of time as tables and settings spell it: `250ms`, `4s`, `10m`, `24h`, `7d`. */
export type Span = `${number}${keyof typeof MS_PER_UNIT}`;

const SPAN = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

export function isSpan(text: string): text is Span {
  return SPAN.test(text);
}

export function msOf(span: Span): number {
  const [, amount, unit] = SPAN.exec(span) ?? [];
  if (amount === undefined || unit === undefined) {
    throw new TypeError(`'${span}' is not a span of time; write a number and one of ms, s, m, h, d, for example 15s`);
  }
  return Math.round(Number(amount) * MS_PER_UNIT[unit as keyof typeof MS_PER_UNIT]);
}
