interface Weighed {
  severity: string;
  category: string;
}

/** PASS: nothing critical, nothing high, and a structure that holds. A structural finding of medium weight is a rule of the
 *  format that is broken, not a hint. */
export function verdictOf(findings: readonly Weighed[]): 'pass' | 'fail' {
  return findings.some(isBlocking) ? 'fail' : 'pass';
}

export function isBlocking({ severity, category }: Weighed): boolean {
  if (severity === 'critical' || severity === 'high') return true;
  return category === 'structure' && severity === 'medium';
}

/** Whether what was stored, perhaps by an older version, is a finding as this one tells it. */
export function isWholeFinding(stored: object): boolean {
  const fields: Readonly<Record<string, unknown>> = { ...stored };
  return ['name', 'severity', 'category', 'file', 'remedy'].every((field) => typeof fields[field] === 'string');
}
