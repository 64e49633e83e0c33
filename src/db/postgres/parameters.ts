import type { Statement } from '../../ports/sql.js';

/** Collects the values of a statement that is put together from parts: `${p.add(x)}` gives `$1`, `$2`, … */
export class Parameters {
  readonly values: unknown[] = [];

  add(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }

  /** A value that is mostly missing is written into the text as NULL, which saves a parameter. */
  orNull(value: unknown): string {
    return value === null || value === undefined ? 'NULL' : this.add(value);
  }

  /** Makes a separate statement part of this one. Its placeholders are renumbered to follow those already there. */
  embed({ text, values }: Statement): string {
    const offset = this.values.length;
    this.values.push(...values);
    return piecesOf(text)
      .map((piece) => (typeof piece === 'string' ? piece : `$${piece + offset}`))
      .join('');
  }
}

/** A statement's text, cut at its placeholders. A number stands for a placeholder. */
const piecesOf = keepByText((text) => text.split(/\$(\d+)/).map((piece, at) => (at % 2 === 0 ? piece : Number(piece))));

/** Refuses a statement that does not draw its rows from `source`: it would write its rows even when the commit is
 *  refused. */
export function checkSource(source: 'guard' | 'item', statement: Statement): Statement {
  if (sourcesOf(statement.text).includes(source)) return statement;
  throw new RangeError(`a statement must draw its rows FROM ${source}: ${statement.text}`);
}

const sourcesOf = keepByText((text) =>
  (['guard', 'item'] as const).filter((source) => new RegExp(`\\bFROM\\b.*\\b${source}\\b`, 'is').test(text)),
);

/** The number and the length of texts whose derivatives are kept: many more than there are stages, and no long list of
 *  VALUES. */
const MAX_KEPT = 500;
const MAX_KEPT_LENGTH = 10_000;

/** Keeps the derivative of each text, because a stage writes the same text every time. */
function keepByText<T>(derive: (text: string) => T): (text: string) => T {
  const kept = new Map<string, T>();
  return (text) => {
    const known = kept.get(text);
    if (known !== undefined) return known;
    const derived = derive(text);
    if (kept.size < MAX_KEPT && text.length <= MAX_KEPT_LENGTH) kept.set(text, derived);
    return derived;
  };
}

/** Replaces NUL bytes and halves of surrogate pairs, which Postgres can't store. Text from outside may hold both, and
 *  an error whose text can't be stored would never be counted. */
export function storableText(text: string): string {
  return text.replace(/\0|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd');
}

/** The same for JSON, which writes both as escapes. An escaped backslash before `u0000` is not such an escape. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value).replace(/\\\\|\\u0000|\\ud[89a-f][0-9a-f]{2}/g, (found) =>
    found === '\\\\' ? found : '\ufffd',
  );
}
