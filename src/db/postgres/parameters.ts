import type { Statement } from '../../ports/sql.js';

/** Collects values while a statement is put together from parts: `${p.add(x)}` gives `$1`, `$2`, … */
export class Parameters {
  readonly values: unknown[] = [];

  add(value: unknown): string {
    this.values.push(value);
    return `$${String(this.values.length)}`;
  }

  /** What is mostly not there is written into the text: a parameter less to send and to read for each. */
  orNull(value: unknown): string {
    return value === null || value === undefined ? 'NULL' : this.add(value);
  }

  /** A statement written on its own becomes part of this one: its placeholders move up behind those already there. */
  embed({ text, values }: Statement): string {
    const offset = this.values.length;
    this.values.push(...values);
    return piecesOf(text)
      .map((piece) => (typeof piece === 'string' ? piece : `$${String(piece + offset)}`))
      .join('');
  }
}

/** A statement's text cut at its placeholders, which are numbers here. */
const piecesOf = keptByText((text) => text.split(/\$(\d+)/).map((piece, at) => (at % 2 === 0 ? piece : Number(piece))));

/** A statement that draws its rows from elsewhere would write them also where nothing else is written. */
export function drawnFrom(source: 'guard' | 'item', statement: Statement): Statement {
  if (sourcesOf(statement.text).includes(source)) return statement;
  throw new RangeError(`a statement must draw its rows FROM ${source}: ${statement.text}`);
}

const sourcesOf = keptByText((text) =>
  (['guard', 'item'] as const).filter((source) => new RegExp(`\\bFROM\\b.*\\b${source}\\b`, 'is').test(text)),
);

/** Texts whose derivatives are kept: many times as many as there are stages, none of them a list of what was found. */
const MAX_KEPT = 500;
const MAX_KEPT_LENGTH = 10_000;

/** A stage writes the same text every time. */
function keptByText<T>(derive: (text: string) => T): (text: string) => T {
  const kept = new Map<string, T>();
  return (text) => {
    const known = kept.get(text);
    if (known !== undefined) return known;
    const derived = derive(text);
    if (kept.size < MAX_KEPT && text.length <= MAX_KEPT_LENGTH) kept.set(text, derived);
    return derived;
  };
}

/** Postgres stores no NUL and no half of a surrogate pair. What people send may hold both, and an error whose text can't be
 *  stored would never be counted. */
export function storableText(text: string): string {
  return text.replace(/\0|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd');
}

/** The same for JSON, in which both are written as escapes; an escaped backslash before `u0000` is none of them. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value).replace(/\\\\|\\u0000|\\ud[89a-f][0-9a-f]{2}/g, (found) =>
    found === '\\\\' ? found : '\ufffd',
  );
}
