import { visibleOf } from '../../core/text/plain-text.js';
import { SEVERITIES } from '../../core/verdict/scan-verdict.js';
import type { ScanFinding } from '../../ports/skill-scanner.js';
import type { Hit } from './hit.js';

const MAX_MATCH = 160;
const MAX_CONTEXT = 240;

/** More findings than an owner mends at once, and few enough for a row in the database. */
const MAX_FINDINGS = 300;

/** Turns hits into findings: each once, in a stable order, the gravest first. Secrets are masked, long texts cut, and
 *  invisible characters spelled out. */
export function tellFindings(hits: readonly Hit[], secrets: readonly string[]): ScanFinding[] {
  const mask = maskOf(secrets);
  const findings = new Map<string, ScanFinding>();
  for (const { rule, file, line, match, context } of hits) {
    const { id, name, severity, category, remedy } = rule;
    const told = {
      id,
      name,
      severity,
      category,
      file: showText(file, MAX_CONTEXT),
      line,
      match: showText(mask(match), MAX_MATCH),
      context: showText(mask(context), MAX_CONTEXT),
      remedy,
    };
    const key = JSON.stringify([id, file, line]);
    const before = findings.get(key);
    if (!before || compareFindings(told, before) < 0) findings.set(key, told);
  }
  return [...findings.values()].sort(compareFindings).slice(0, MAX_FINDINGS);
}

function compareFindings(a: ScanFinding, b: ScanFinding): number {
  return (
    SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
    compareText(a.file, b.file) ||
    (a.line ?? 0) - (b.line ?? 0) ||
    compareText(a.id, b.id) ||
    compareText(a.match, b.match)
  );
}

/** Compares by code unit, because with a locale the order would depend on the machine. */
function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Masks the longest secret first, so that no part of it stays visible when a shorter secret is part of it. A secret
 *  over several lines is masked line by line, because a context is one line. */
function maskOf(secrets: readonly string[]): (text: string) => string {
  const parts = [...new Set(secrets.flatMap((secret) => secret.split('\n')).map((part) => part.trim()))]
    .filter((part) => part.length >= 6)
    .sort((a, b) => b.length - a.length || compareText(a, b));
  return (text) => parts.reduce((masked, part) => masked.replaceAll(part, `${part.slice(0, 4)}…[masked]`), text);
}

/** Control characters could drive a terminal, and hidden text could speak to a reader of the findings. Both are spelled
 *  out. */
function showText(text: string, max: number): string {
  const cut = text.slice(0, max).replace(/\s+/g, ' ');
  return visibleOf(cut) + (text.length > max ? '…' : '');
}
