import { describe, expect, it } from 'vitest';
import { definePipeline, type FanOut, type Pipeline, type StageRow, type StateRow } from '../../src/core/pipeline.js';
import { assertSoundTable } from '../../src/core/sound-table.js';
import { PIPELINES } from '../../src/domains/tables.js';
import { SPEC_TABLES } from '../support/spec-tables.js';
import { SAMPLE_TABLES } from '../support/tables.js';

function work(stage: string, more: Partial<StageRow> = {}): StageRow {
  return { stage, tries: 3, within: '10s', spent: { move: 'FAILED' }, ...more };
}

function spread(stage: string, more: Partial<StageRow> & Partial<FanOut> = {}): StageRow {
  const { width = 4, needs = 'all', ...row } = more;
  return work(stage, { ...row, fanOut: { width, needs } });
}

/** A sound table that each test spoils in one place. */
function tableWith(
  states: Record<string, StateRow>,
  more: Omit<Partial<Pipeline>, 'rescue'> & { rescue?: object } = {},
): Pipeline {
  const { rescue, ...rest } = more;
  return {
    name: 'sample',
    start: 'FIRST',
    sweep: { every: '10s', staleAfter: '5s', stuckAfter: '15s' },
    cancelled: 'FAILED',
    ...rest,
    rescue: {
      budget: 3,
      backoff: ['2s', '5s', '10s'],
      budgetResetAfter: '24h',
      oldestRescued: '7d',
      exhausted: 'FAILED',
      ...rescue,
    },
    states: {
      FIRST: { does: work('first'), then: { done: 'SECOND' } },
      SECOND: { does: work('second'), then: { done: 'DONE' } },
      DONE: { ends: 'done' },
      FAILED: { ends: 'failed' },
      ...states,
    },
  };
}

function expectRefused(table: Pipeline, problem: string): void {
  expect(() => assertSoundTable(table)).toThrow(problem);
}

function expectSound(table: Pipeline): void {
  expect(() => assertSoundTable(table)).not.toThrow();
}

describe('a sound table', () => {
  it.each([...SAMPLE_TABLES, ...SPEC_TABLES, ...Object.values(PIPELINES)])('is $name', (table) => {
    expectSound(table);
  });

  it('is the one that the tests below spoil', () => {
    expectSound(tableWith({}));
  });

  it('is refused with the name of its pipeline and all that is wrong, each once', () => {
    const table = tableWith({
      FIRST: { does: [work('first', { tries: 0 }), work('first', { tries: 0 })], then: { done: 'NOWHERE' } },
    });
    expectRefused(
      table,
      "pipeline 'sample': no state 'NOWHERE'; stage 'first' needs at least one try; stage 'first' stands in two places; nothing leads to 'SECOND'",
    );
  });

  it('is what definePipeline gives back, unchanged', () => {
    const table = tableWith({});
    expect(definePipeline(table)).toBe(table);
    expect(() => definePipeline(tableWith({ DONE: { ends: 'done', reopens: 'NOWHERE' } }))).toThrow(
      "no state 'NOWHERE'",
    );
  });
});

describe('an unknown state', () => {
  it.each<[string, Pipeline]>([
    ['start', tableWith({}, { start: 'NOWHERE' })],
    ['cancelled', tableWith({}, { cancelled: 'NOWHERE' })],
    ['exhausted', tableWith({}, { rescue: { exhausted: 'NOWHERE' } })],
    ['exhausted by class', tableWith({}, { rescue: { exhausted: { DB_ERROR: 'NOWHERE', other: 'FAILED' } } })],
    [
      'exhausted by any other class',
      tableWith({}, { rescue: { exhausted: { DB_ERROR: 'FAILED', other: 'NOWHERE' } } }),
    ],
    ['resumesAt', tableWith({}, { rescue: { resumesAt: 'NOWHERE' } })],
    ['then', tableWith({ FIRST: { does: work('first'), then: { done: 'SECOND', odd: 'NOWHERE' } } })],
    ['a decision', tableWith({ SECOND: { awaits: 'reviewer', then: { yes: 'DONE', no: 'NOWHERE' } } })],
    ['claimed', tableWith({ SECOND: { rests: 'backlog', then: { claimed: 'NOWHERE' } } })],
    ['spent', tableWith({ SECOND: { does: work('second', { spent: { move: 'NOWHERE' } }), then: { done: 'DONE' } } })],
    ['reopens', tableWith({ DONE: { ends: 'done', reopens: 'NOWHERE' } })],
  ])('is refused as %s', (_where, table) => {
    expectRefused(table, "no state 'NOWHERE'");
  });

  it('is refused even if every object has a property of that name', () => {
    for (const name of ['constructor', 'toString', '__proto__']) {
      expectRefused(tableWith({}, { cancelled: name }), `no state '${name}'`);
    }
  });
});

describe('a table', () => {
  it('refuses a state that leads back to an earlier state', () => {
    const table = tableWith({ SECOND: { does: work('second'), then: { done: 'DONE', again: 'FIRST' } } });
    expectRefused(table, 'loop FIRST → SECOND → FIRST');
  });

  it('refuses a state that leads to itself', () => {
    expectRefused(
      tableWith({ SECOND: { awaits: 'reviewer', then: { wait: 'SECOND', yes: 'DONE' } } }),
      'loop SECOND → SECOND',
    );
  });

  it('refuses spent tries that lead back', () => {
    const spent = { move: 'FIRST' };
    expectRefused(
      tableWith({ SECOND: { does: work('second', { spent }), then: { done: 'DONE' } } }),
      'loop FIRST → SECOND',
    );
  });

  it('refuses a loop that the start does not reach', () => {
    const table = tableWith({
      THIRD: { awaits: 'reviewer', then: { on: 'FOURTH' } },
      FOURTH: { awaits: 'reviewer', then: { back: 'THIRD' } },
    });
    expectRefused(table, 'loop THIRD → FOURTH → THIRD');
  });

  it('allows two ways to one state, which are no loop', () => {
    expectSound(
      tableWith({
        FIRST: { does: work('first'), then: { long: 'SECOND', short: 'THIRD' } },
        SECOND: { does: work('second'), then: { done: 'THIRD' } },
        THIRD: { does: work('third'), then: { done: 'DONE' } },
      }),
    );
  });

  it('refuses a state that nothing leads to', () => {
    expectRefused(tableWith({ THIRD: { does: work('third'), then: { done: 'DONE' } } }), "nothing leads to 'THIRD'");
    expectRefused(tableWith({ GIVEN_UP: { ends: 'failed' } }), "nothing leads to 'GIVEN_UP'");
  });

  it('refuses also the states behind a state that nothing leads to', () => {
    const table = tableWith({
      THIRD: { does: work('third'), then: { done: 'FOURTH' } },
      FOURTH: { does: work('fourth'), then: { done: 'DONE' } },
    });
    expectRefused(table, "nothing leads to 'THIRD'; nothing leads to 'FOURTH'");
  });

  it('allows a state that only recovery or spent tries lead to', () => {
    const aside = { CANCELLED: { ends: 'failed' }, EXHAUSTED: { ends: 'failed' } } as const;
    expectSound(tableWith(aside, { cancelled: 'CANCELLED', rescue: { exhausted: 'EXHAUSTED' } }));
    expectSound(
      tableWith({
        SECOND: { does: work('second', { spent: { move: 'MENDING' } }), then: { done: 'DONE' } },
        MENDING: { does: work('mend'), then: { done: 'DONE' } },
      }),
    );
  });

  it.each<[string, StateRow]>([
    ['does work', { does: work('second'), then: {} }],
    ['awaits a decision', { awaits: 'reviewer', then: {} }],
    ['rests', { rests: 'backlog', then: {} }],
  ])('refuses a state that %s and has no outcome', (_kind, row) => {
    expectRefused(tableWith({ SECOND: row }), "nothing leads out of 'SECOND'");
  });
});

describe('the states to begin anew from', () => {
  it('must not end, because no work would begin', () => {
    expectRefused(tableWith({}, { retries: ['FIRST', 'DONE'] }), "work can't begin anew in 'DONE'");
    expect(() => assertSoundTable(tableWith({}, { retries: ['FIRST'] }))).not.toThrow();
  });
});

describe('a stage', () => {
  it('is refused in two states or twice in one, because both would share one task', () => {
    const again = { does: work('first'), then: { done: 'DONE' } };
    expectRefused(tableWith({ SECOND: again }), "stage 'first' stands in two places");
    const twice = { does: [work('second'), work('other'), work('second')], then: { done: 'DONE' } };
    expectRefused(tableWith({ SECOND: twice }), "stage 'second' stands in two places");
  });

  it('is refused as the last of its state if it may be skipped and the state has no outcome to go on with', () => {
    const last = [work('second'), work('third', { spent: 'skip' })];
    expectRefused(
      tableWith({ SECOND: { does: last, then: { good: 'DONE' } } }),
      "state 'SECOND' needs an outcome 'done', which its last stage 'third' goes on with",
    );
    expectSound(tableWith({ SECOND: { does: last, then: { done: 'DONE', good: 'DONE' } } }));
    expectSound(tableWith({ SECOND: { does: last.toReversed(), then: { good: 'DONE' } } }));
  });

  it('is refused as the last of its state if it is a fan-out and the state has no outcome to go on with', () => {
    const does = [work('second'), spread('third')];
    expectRefused(tableWith({ SECOND: { does, then: { all: 'DONE' } } }), "needs an outcome 'done'");
    expectSound(tableWith({ SECOND: { does, then: { done: 'DONE' } } }));
  });
});

describe('a fan-out whose units no stage returns, and which would be done at once,', () => {
  const unfed = "fan-out 'spread' has no stage before it that always returns its units";
  const SECOND = { does: spread('spread'), then: { done: 'DONE' } };

  it('is refused at the start', () => {
    expectRefused(tableWith({ FIRST: { does: [spread('spread'), work('first')], then: { done: 'SECOND' } } }), unfed);
  });

  it('differs from a fan-out after a stage in its own state or in the state before, which is allowed', () => {
    expectSound(tableWith({ SECOND }));
    expectSound(tableWith({ SECOND: { does: [work('split'), spread('spread')], then: { done: 'DONE' } } }));
  });

  it('is refused after another fan-out', () => {
    const does = [work('split'), spread('copy'), spread('spread')];
    expectRefused(tableWith({ SECOND: { does, then: { done: 'DONE' } } }), unfed);
    expectRefused(
      tableWith({ FIRST: { does: [work('first'), spread('copy')], then: { done: 'SECOND' } }, SECOND }),
      unfed,
    );
  });

  it('is refused after a stage that may be skipped', () => {
    const does = [work('split', { spent: 'skip' }), spread('spread')];
    expectRefused(tableWith({ SECOND: { does, then: { done: 'DONE' } } }), unfed);
    expectRefused(
      tableWith({ FIRST: { does: work('first', { spent: 'skip' }), then: { done: 'SECOND' } }, SECOND }),
      unfed,
    );
  });

  it('differs from a fan-out after a stage that is skipped to another state, which is allowed', () => {
    const FIRST = { does: work('first', { spent: 'skip' }), then: { done: 'DONE', many: 'SECOND' } };
    expectSound(tableWith({ FIRST, SECOND }));
  });

  it('is refused after a decision or a rest', () => {
    const decided = { awaits: 'reviewer' as const, then: { yes: 'SECOND' } };
    expectRefused(tableWith({ FIRST: decided, SECOND }), unfed);
    expectRefused(tableWith({ FIRST: { rests: 'not_due', then: { picked: 'SECOND' } }, SECOND }), unfed);
  });

  it('is refused if only one of several ways to it brings units', () => {
    const FIRST = { does: work('first'), then: { done: 'SECOND', ask: 'ASKING' } };
    expectRefused(tableWith({ FIRST, SECOND, ASKING: { awaits: 'reviewer', then: { yes: 'SECOND' } } }), unfed);
  });

  it('is refused where spent tries, a reopening or a rescue leads to it', () => {
    const FIRST = { does: work('first', { spent: { move: 'SECOND' } }), then: { done: 'SECOND' } };
    expectRefused(tableWith({ FIRST, SECOND }), unfed);
    expectRefused(tableWith({ SECOND, FAILED: { ends: 'failed', reopens: 'SECOND' } }), unfed);
    expectRefused(tableWith({ SECOND }, { rescue: { resumesAt: 'SECOND' } }), unfed);
  });
});

describe('a rest that a claim should end', () => {
  it.each<[string, StateRow]>([
    ['awaits a decision', { awaits: 'reviewer', then: { yes: 'DONE' } }],
    ['rests', { rests: 'not_due', then: { picked: 'DONE' } }],
    ['ends', { ends: 'done' }],
  ])('is refused before a state that %s, because no stage would claim', (_kind, SECOND) => {
    const FIRST = { rests: 'backlog', then: { claimed: 'SECOND', skipped: 'DONE' } } as const;
    expectRefused(
      tableWith({ FIRST, SECOND }),
      "'FIRST' is left by a claim, but 'SECOND' begins with no stage that could make it",
    );
  });

  it('is refused before a fan-out', () => {
    const FIRST = { does: work('first'), then: { done: 'SECOND', later: 'LATER' } };
    const LATER = { rests: 'backlog', then: { claimed: 'SECOND' } } as const;
    const SECOND = { does: spread('spread'), then: { done: 'DONE' } };
    expectRefused(tableWith({ FIRST, LATER, SECOND }), "'LATER' is left by a claim");
  });
});

describe('a recovery move', () => {
  const REVIEW = { awaits: 'reviewer' as const, then: { yes: 'DONE', no: 'FAILED' } };
  const FIRST = { does: work('first'), then: { done: 'SECOND', ask: 'REVIEW' } };

  it('is refused to a start that ends', () => {
    expectRefused(tableWith({}, { start: 'DONE' }), "start must not lead to 'DONE', which ends");
  });

  it('of cancelled items must not lead to a state that goes on', () => {
    expectRefused(tableWith({}, { cancelled: 'SECOND' }), "cancelled must not lead to 'SECOND', which does work");
    expectRefused(tableWith({ FIRST, REVIEW }, { cancelled: 'REVIEW' }), "cancelled must not lead to 'REVIEW'");
  });

  it('of exhausted items must not lead to more work, where they would be exhausted again and again', () => {
    expectRefused(
      tableWith({}, { rescue: { exhausted: 'FIRST' } }),
      "exhausted must not lead to 'FIRST', which does work",
    );
    const byClass = { rescue: { exhausted: { LLM_ERROR: 'SECOND', other: 'FAILED' } } };
    expectRefused(tableWith({}, byClass), "exhausted must not lead to 'SECOND'");
    expectSound(tableWith({ FIRST, REVIEW }, { rescue: { exhausted: { LLM_ERROR: 'REVIEW', other: 'FAILED' } } }));
  });

  it('of a reopened item must not lead to another end', () => {
    expectRefused(
      tableWith({ DONE: { ends: 'done', reopens: 'FAILED' } }),
      "reopens must not lead to 'FAILED', which ends",
    );
    expectRefused(tableWith({ DONE: { ends: 'done', reopens: 'DONE' } }), "reopens must not lead to 'DONE'");
    expectSound(tableWith({ FIRST, REVIEW, DONE: { ends: 'done', reopens: 'REVIEW' } }));
  });

  it('of a rescued item must not lead to an end or to a person', () => {
    expectRefused(tableWith({}, { rescue: { resumesAt: 'DONE' } }), "resumesAt must not lead to 'DONE', which ends");
    const table = tableWith({ FIRST, REVIEW }, { rescue: { resumesAt: 'REVIEW' } });
    expectRefused(table, "resumesAt must not lead to 'REVIEW', which awaits a person");
  });

  it('of a rescued item must not skip work that it has not done', () => {
    expectRefused(tableWith({}, { rescue: { resumesAt: 'SECOND' } }), "a rescue would leap from 'FIRST' to 'SECOND'");
    expectSound(tableWith({}, { rescue: { resumesAt: 'FIRST' } }));
  });
});

describe('a state that may be full', () => {
  const SECOND = { does: work('second'), then: { done: 'DONE' }, admits: 2 };
  const full = 'which may be full';

  it('is refused where items that enter it could not wait', () => {
    expectRefused(
      tableWith({ SECOND: { ...SECOND, admits: 1 }, FIRST: { ...SECOND, does: work('first') } }),
      `'FIRST', ${full}`,
    );
    expectRefused(
      tableWith({ SECOND, DONE: { ends: 'done', reopens: 'SECOND' } }),
      `reopens must not lead to 'SECOND', ${full}`,
    );
    expectRefused(
      tableWith({ SECOND, FIRST: { awaits: 'reviewer', then: { yes: 'SECOND' } } }),
      `a decision in 'FIRST' must not lead to 'SECOND', ${full}`,
    );
    const FIRST = { does: work('first', { spent: { move: 'SECOND' } }), then: { done: 'SECOND' } };
    expectRefused(tableWith({ SECOND, FIRST }), `spent must not lead to 'SECOND', ${full}`);
    expectRefused(tableWith({ FIRST: { ...SECOND, does: work('first') } }, { rescue: { resumesAt: 'FIRST' } }), full);
    const REVIEW = { awaits: 'reviewer' as const, then: { yes: 'DONE' }, admits: 2 };
    expectRefused(
      tableWith({ REVIEW }, { rescue: { exhausted: 'REVIEW' } }),
      `exhausted must not lead to 'REVIEW', ${full}`,
    );
  });

  it("is allowed behind a stage's outcome, a claim or a batch", () => {
    expectSound(tableWith({ SECOND }));
    expectSound(tableWith({ SECOND, FIRST: { rests: 'backlog', then: { claimed: 'SECOND' } } }));
    expectSound(tableWith({ SECOND, FIRST: { rests: 'not_due', then: { picked: 'SECOND' } } }));
  });
});
