import { describe, expect, it } from 'vitest';
import { canary } from '../../../src/domains/canary/table.js';
import { assertNamesDiffer } from '../../../src/start/parts/assert-names-differ.js';

const job = (name: string) => ({ name, create: () => Promise.reject(new Error('not called')) });
const keep = (name: string) => ({ name, table: name, isOld: 'true', keptMs: () => 0 });
const metric = (name: string) => ({ name, help: '', type: 'gauge' as const, labels: [], read: () => [] });
const follow = (kind: string) => ({ kind, pipeline: 'canary', summary: '' });

describe('the parts of two domains', () => {
  it('may have any names that differ', () => {
    const one = { tables: [canary], jobs: [job('a')], keeps: [keep('a')], follows: [follow('a')] };
    const other = { tables: [], jobs: [job('b')], keeps: [keep('b')], follows: [follow('b')] };
    expect(() => assertNamesDiffer([one, other, { tables: [] }])).not.toThrow();
  });

  it.each([
    [
      'jobs',
      'copy',
      [
        { tables: [], jobs: [job('copy')] },
        { tables: [], jobs: [job('copy')] },
      ],
    ],
    ['jobs', 'retention', [{ tables: [], jobs: [job('retention')] }]],
    ['jobs', 'sweep-canary', [{ tables: [canary], jobs: [job('sweep-canary')] }]],
    ['keeps', 'receipts', [{ tables: [], keeps: [keep('receipts')] }]],
    ['metrics', 'a_total', [{ tables: [], metrics: [metric('a_total'), metric('a_total')] }]],
    ['follows', 'things', [{ tables: [], follows: [follow('things'), follow('things')] }]],
  ])('are refused where two %s are called %s', (part, name, domains) => {
    expect(() => assertNamesDiffer(domains)).toThrow(`two ${part} are called '${name}'`);
  });
});
