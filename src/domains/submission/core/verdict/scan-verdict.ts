/** How grave a finding of the scan is, the gravest first. */
export const SEVERITIES = ['critical', 'high', 'medium', 'low', 'info'] as const;
export type Severity = (typeof SEVERITIES)[number];

interface Weighed {
  severity: string;
  category: string;
}

/** pass: no critical and no high finding, and a valid structure. A structure finding of medium severity is a broken
 *  rule of the format, so it fails the scan. */
export function scanVerdictOf(findings: readonly Weighed[]): 'pass' | 'fail' {
  return findings.some(isBlocking) ? 'fail' : 'pass';
}

export function isBlocking({ severity, category }: Weighed): boolean {
  if (severity === 'critical' || severity === 'high') return true;
  return category === 'structure' && severity === 'medium';
}

/** Whether a stored finding has the fields that this version tells its owner. An older version may have stored it. */
export function isWholeFinding(stored: object): boolean {
  const fields: Readonly<Record<string, unknown>> = { ...stored };
  return ['name', 'severity', 'category', 'file', 'remedy'].every((field) => typeof fields[field] === 'string');
}
