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
