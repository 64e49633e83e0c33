import { visibleOf } from '../../core/text/plain-text.js';
import { type Finding, SEVERITIES } from '../../ports/skill-scanner.js';
import type { Hit } from './hit.js';

const MAX_MATCH = 160;
const MAX_CONTEXT = 240;

/** More than an owner mends at once, and little enough for a row in the database. */
const MAX_FINDINGS = 300;

/** In a stable order, the gravest first, each once; secrets masked, long texts cut, what can't be seen made visible. */
export function tellFindings(hits: readonly Hit[], secrets: readonly string[]): Finding[] {
  const mask = maskOf(secrets);
  const findings = new Map<string, Finding>();
  for (const { rule, file, line, match, context } of hits) {
    const { id, name, severity, category, remedy } = rule;
    const told = {
      ...{ id, name, severity, category, file: shown(file, MAX_CONTEXT), line },
      ...{ match: shown(mask(match), MAX_MATCH), context: shown(mask(context), MAX_CONTEXT), remedy },
    };
    const key = JSON.stringify([id, file, line]);
    const before = findings.get(key);
    if (!before || compare(told, before) < 0) findings.set(key, told);
  }
  return [...findings.values()].sort(compare).slice(0, MAX_FINDINGS);
}

function compare(a: Finding, b: Finding): number {
  return (
    SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
    order(a.file, b.file) ||
    (a.line ?? 0) - (b.line ?? 0) ||
    order(a.id, b.id) ||
    order(a.match, b.match)
  );
}

/** By code unit: a locale would make the order the machine's. */
function order(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Longest first, so that no part of a secret is left when another is part of it. A secret over several lines is masked line by
 *  line, since a context is one line. */
function maskOf(secrets: readonly string[]): (text: string) => string {
  const parts = [...new Set(secrets.flatMap((secret) => secret.split('\n')).map((part) => part.trim()))]
    .filter((part) => part.length >= 6)
    .sort((a, b) => b.length - a.length || order(a, b));
  return (text) => parts.reduce((masked, part) => masked.replaceAll(part, `${part.slice(0, 4)}…[masked]`), text);
}

/** Control characters could drive a terminal, hidden ones could speak to whoever reads the findings. */
function shown(text: string, max: number): string {
  const cut = text.slice(0, max).replace(/\s+/g, ' ');
  return visibleOf(cut) + (text.length > max ? '…' : '');
}
