import type { Hit } from './hit.js';
import type { ChainRule } from './rule.js';

/** Hits of several rules that stand near one another and together mean an attack. */
export function chainHits(rules: readonly ChainRule[], hits: readonly Hit[]): Hit[] {
  return rules.flatMap((rule) => {
    const [first = [], ...others] = rule.all.map((ids) =>
      hits.filter((hit) => ids.includes(hit.rule.id) && !hit.isForbidden),
    );
    const whole = first.find((hit) =>
      others.every((group) => group.some((other) => isNear(hit, other, rule.withinLines))),
    );
    return whole ? [{ ...whole, rule }] : [];
  });
}

function isNear(a: Hit, b: Hit, lines: number): boolean {
  return a.line !== null && b.line !== null && Math.abs(a.line - b.line) <= lines;
}
