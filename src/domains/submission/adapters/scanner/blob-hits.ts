import type { BlobRule } from './rule.js';
import type { View } from './view.js';

const RUN = /[A-Za-z0-9+/_-]{64,}/g;

/** Not matched by YARA, because a pattern that is only a class of characters has no anchor there and is slow. */
export function blobHits(
  rules: readonly BlobRule[],
  view: View,
): { rule: BlobRule; view: View; line: number; match: string }[] {
  return view.text.split('\n').flatMap((text, line) =>
    rules.flatMap((rule) => {
      const blob = [...text.matchAll(RUN)].find(
        ({ 0: run, index }) => run.length >= rule.minCharacters && !isPicture(text, index),
      );
      return blob ? [{ rule, view, line, match: blob[0] }] : [];
    }),
  );
}

function isPicture(text: string, index: number): boolean {
  return /data:(?:image|font)\/[\w.+-]+;base64,$/.test(text.slice(Math.max(0, index - 60), index));
}
