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

describe('an unknown state is refused', () => {
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
    ['a decision', tableWith({ SECOND: { awaits: 'admin', then: { yes: 'DONE', no: 'NOWHERE' } } })],
    ['claimed', tableWith({ SECOND: { rests: 'backlog', then: { claimed: 'NOWHERE' } } })],
    ['spent', tableWith({ SECOND: { does: work('second', { spent: { move: 'NOWHERE' } }), then: { done: 'DONE' } } })],
    ['reopens', tableWith({ DONE: { ends: 'done', reopens: 'NOWHERE' } })],
  ])('as %s', (_where, table) => {
    expectRefused(table, "no state 'NOWHERE'");
  });

  it('even if every object has a property of that name', () => {
    for (const name of ['constructor', 'toString', '__proto__']) {
      expectRefused(tableWith({}, { cancelled: name }), `no state '${name}'`);
    }
  });
});

describe('a way that leads nowhere or comes back is refused', () => {
  it('a state that leads back to one before it', () => {
    const table = tableWith({ SECOND: { does: work('second'), then: { done: 'DONE', again: 'FIRST' } } });
    expectRefused(table, 'loop FIRST → SECOND → FIRST');
  });

  it('a state that leads to itself', () => {
    expectRefused(
      tableWith({ SECOND: { awaits: 'admin', then: { wait: 'SECOND', yes: 'DONE' } } }),
      'loop SECOND → SECOND',
    );
  });

  it('spent tries that lead back', () => {
    const spent = { move: 'FIRST' };
    expectRefused(
      tableWith({ SECOND: { does: work('second', { spent }), then: { done: 'DONE' } } }),
      'loop FIRST → SECOND',
    );
  });

  it('a loop that the start does not reach', () => {
    const table = tableWith({
      THIRD: { awaits: 'admin', then: { on: 'FOURTH' } },
      FOURTH: { awaits: 'admin', then: { back: 'THIRD' } },
    });
    expectRefused(table, 'loop THIRD → FOURTH → THIRD');
  });

  it('but two ways to one state are no loop', () => {
    expectSound(
      tableWith({
        FIRST: { does: work('first'), then: { long: 'SECOND', short: 'THIRD' } },
        SECOND: { does: work('second'), then: { done: 'THIRD' } },
        THIRD: { does: work('third'), then: { done: 'DONE' } },
      }),
    );
  });

  it('a state that nothing leads to', () => {
    expectRefused(tableWith({ THIRD: { does: work('third'), then: { done: 'DONE' } } }), "nothing leads to 'THIRD'");
    expectRefused(tableWith({ GIVEN_UP: { ends: 'failed' } }), "nothing leads to 'GIVEN_UP'");
  });

  it('nor the states behind it', () => {
    const table = tableWith({
      THIRD: { does: work('third'), then: { done: 'FOURTH' } },
      FOURTH: { does: work('fourth'), then: { done: 'DONE' } },
    });
    expectRefused(table, "nothing leads to 'THIRD'; nothing leads to 'FOURTH'");
  });

  it('but not one that only recovery or spent tries lead to', () => {
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
    ['awaits a decision', { awaits: 'admin', then: {} }],
    ['rests', { rests: 'backlog', then: {} }],
  ])('a state that %s and has no outcome', (_kind, row) => {
    expectRefused(tableWith({ SECOND: row }), "nothing leads out of 'SECOND'");
  });
});

describe('a state to begin anew from is refused', () => {
  it('that ends, for nothing would begin', () => {
    expectRefused(tableWith({}, { retries: ['FIRST', 'DONE'] }), "work can't begin anew in 'DONE'");
    expect(() => assertSoundTable(tableWith({}, { retries: ['FIRST'] }))).not.toThrow();
  });
});

describe('a stage is refused', () => {
  it('that stands in two states, or twice in one: its tasks would be one', () => {
    const again = { does: work('first'), then: { done: 'DONE' } };
    expectRefused(tableWith({ SECOND: again }), "stage 'first' stands in two places");
    const twice = { does: [work('second'), work('other'), work('second')], then: { done: 'DONE' } };
    expectRefused(tableWith({ SECOND: twice }), "stage 'second' stands in two places");
  });

  it("that may be skipped as its state's last, without an outcome to go on with", () => {
    const last = [work('second'), work('third', { spent: 'skip' })];
    expectRefused(
      tableWith({ SECOND: { does: last, then: { good: 'DONE' } } }),
      "state 'SECOND' needs an outcome 'done', which its last stage 'third' goes on with",
    );
    expectSound(tableWith({ SECOND: { does: last, then: { done: 'DONE', good: 'DONE' } } }));
    expectSound(tableWith({ SECOND: { does: last.toReversed(), then: { good: 'DONE' } } }));
  });

  it("that is a fan-out as its state's last, without an outcome to go on with", () => {
    const does = [work('second'), spread('third')];
    expectRefused(tableWith({ SECOND: { does, then: { all: 'DONE' } } }), "needs an outcome 'done'");
    expectSound(tableWith({ SECOND: { does, then: { done: 'DONE' } } }));
  });
});

describe('a fan-out whose units nobody returns is refused: without units it would be done at once', () => {
  const unfed = "fan-out 'spread' has no stage before it that always returns its units";
  const SECOND = { does: spread('spread'), then: { done: 'DONE' } };

  it('at the start', () => {
    expectRefused(tableWith({ FIRST: { does: [spread('spread'), work('first')], then: { done: 'SECOND' } } }), unfed);
  });

  it('but not after a stage in its own state, or in the state before', () => {
    expectSound(tableWith({ SECOND }));
    expectSound(tableWith({ SECOND: { does: [work('split'), spread('spread')], then: { done: 'DONE' } } }));
  });

  it('after another fan-out', () => {
    const does = [work('split'), spread('copy'), spread('spread')];
    expectRefused(tableWith({ SECOND: { does, then: { done: 'DONE' } } }), unfed);
    expectRefused(
      tableWith({ FIRST: { does: [work('first'), spread('copy')], then: { done: 'SECOND' } }, SECOND }),
      unfed,
    );
  });

  it('after a stage that may be skipped', () => {
    const does = [work('split', { spent: 'skip' }), spread('spread')];
    expectRefused(tableWith({ SECOND: { does, then: { done: 'DONE' } } }), unfed);
    expectRefused(
      tableWith({ FIRST: { does: work('first', { spent: 'skip' }), then: { done: 'SECOND' } }, SECOND }),
      unfed,
    );
  });

  it('but not after one that is skipped to elsewhere', () => {
    const FIRST = { does: work('first', { spent: 'skip' }), then: { done: 'DONE', many: 'SECOND' } };
    expectSound(tableWith({ FIRST, SECOND }));
  });

  it('after a decision, or after a rest', () => {
    const decided = { awaits: 'admin', then: { yes: 'SECOND' } };
    expectRefused(tableWith({ FIRST: decided, SECOND }), unfed);
    expectRefused(tableWith({ FIRST: { rests: 'not_due', then: { picked: 'SECOND' } }, SECOND }), unfed);
  });

  it('if only one of several ways to it brings units', () => {
    const FIRST = { does: work('first'), then: { done: 'SECOND', ask: 'ASKING' } };
    expectRefused(tableWith({ FIRST, SECOND, ASKING: { awaits: 'admin', then: { yes: 'SECOND' } } }), unfed);
  });

  it('where spent tries, a reopening or a rescue leads to it', () => {
    const FIRST = { does: work('first', { spent: { move: 'SECOND' } }), then: { done: 'SECOND' } };
    expectRefused(tableWith({ FIRST, SECOND }), unfed);
    expectRefused(tableWith({ SECOND, FAILED: { ends: 'failed', reopens: 'SECOND' } }), unfed);
    expectRefused(tableWith({ SECOND }, { rescue: { resumesAt: 'SECOND' } }), unfed);
  });
});

describe('a rest that a claim should end is refused', () => {
  it.each<[string, StateRow]>([
    ['awaits a decision', { awaits: 'admin', then: { yes: 'DONE' } }],
    ['rests', { rests: 'not_due', then: { picked: 'DONE' } }],
    ['ends', { ends: 'done' }],
  ])('where it leads to a state that %s: nobody would claim', (_kind, SECOND) => {
    const FIRST = { rests: 'backlog', then: { claimed: 'SECOND', skipped: 'DONE' } } as const;
    expectRefused(
      tableWith({ FIRST, SECOND }),
      "'FIRST' is left by a claim, but 'SECOND' begins with no stage that could make it",
    );
  });

  it('where it leads to a fan-out', () => {
    const FIRST = { does: work('first'), then: { done: 'SECOND', later: 'LATER' } };
    const LATER = { rests: 'backlog', then: { claimed: 'SECOND' } } as const;
    const SECOND = { does: spread('spread'), then: { done: 'DONE' } };
    expectRefused(tableWith({ FIRST, LATER, SECOND }), "'LATER' is left by a claim");
  });
});

describe('a recovery move is refused', () => {
  const REVIEW = { awaits: 'admin', then: { yes: 'DONE', no: 'FAILED' } };
  const FIRST = { does: work('first'), then: { done: 'SECOND', ask: 'REVIEW' } };

  it('to a start that ends', () => {
    expectRefused(tableWith({}, { start: 'DONE' }), "start must not lead to 'DONE', which ends");
  });

  it('of cancelled items to a state that goes on', () => {
    expectRefused(tableWith({}, { cancelled: 'SECOND' }), "cancelled must not lead to 'SECOND', which does work");
    expectRefused(tableWith({ FIRST, REVIEW }, { cancelled: 'REVIEW' }), "cancelled must not lead to 'REVIEW'");
  });

  it('of exhausted items to more work, where they would be exhausted for ever', () => {
    expectRefused(
      tableWith({}, { rescue: { exhausted: 'FIRST' } }),
      "exhausted must not lead to 'FIRST', which does work",
    );
    const byClass = { rescue: { exhausted: { LLM_ERROR: 'SECOND', other: 'FAILED' } } };
    expectRefused(tableWith({}, byClass), "exhausted must not lead to 'SECOND'");
    expectSound(tableWith({ FIRST, REVIEW }, { rescue: { exhausted: { LLM_ERROR: 'REVIEW', other: 'FAILED' } } }));
  });

  it('of a reopened item to another end', () => {
    expectRefused(
      tableWith({ DONE: { ends: 'done', reopens: 'FAILED' } }),
      "reopens must not lead to 'FAILED', which ends",
    );
    expectRefused(tableWith({ DONE: { ends: 'done', reopens: 'DONE' } }), "reopens must not lead to 'DONE'");
    expectSound(tableWith({ FIRST, REVIEW, DONE: { ends: 'done', reopens: 'REVIEW' } }));
  });

  it('of a rescued item to an end or to a person', () => {
    expectRefused(tableWith({}, { rescue: { resumesAt: 'DONE' } }), "resumesAt must not lead to 'DONE', which ends");
    const table = tableWith({ FIRST, REVIEW }, { rescue: { resumesAt: 'REVIEW' } });
    expectRefused(table, "resumesAt must not lead to 'REVIEW', which awaits a person");
  });

  it('of a rescued item over work that it has not done', () => {
    expectRefused(tableWith({}, { rescue: { resumesAt: 'SECOND' } }), "a rescue would leap from 'FIRST' to 'SECOND'");
    expectSound(tableWith({}, { rescue: { resumesAt: 'FIRST' } }));
  });
});

describe('a state that may be full is refused', () => {
  const SECOND = { does: work('second'), then: { done: 'DONE' }, admits: 2 };
  const full = 'which may be full';

  it('where those who come in could not wait', () => {
    expectRefused(
      tableWith({ SECOND: { ...SECOND, admits: 1 }, FIRST: { ...SECOND, does: work('first') } }),
      `'FIRST', ${full}`,
    );
    expectRefused(
      tableWith({ SECOND, DONE: { ends: 'done', reopens: 'SECOND' } }),
      `reopens must not lead to 'SECOND', ${full}`,
    );
    expectRefused(
      tableWith({ SECOND, FIRST: { awaits: 'admin', then: { yes: 'SECOND' } } }),
      `a decision in 'FIRST' must not lead to 'SECOND', ${full}`,
    );
    const FIRST = { does: work('first', { spent: { move: 'SECOND' } }), then: { done: 'SECOND' } };
    expectRefused(tableWith({ SECOND, FIRST }), `spent must not lead to 'SECOND', ${full}`);
    expectRefused(tableWith({ FIRST: { ...SECOND, does: work('first') } }, { rescue: { resumesAt: 'FIRST' } }), full);
    const REVIEW = { awaits: 'admin', then: { yes: 'DONE' }, admits: 2 };
    expectRefused(
      tableWith({ REVIEW }, { rescue: { exhausted: 'REVIEW' } }),
      `exhausted must not lead to 'REVIEW', ${full}`,
    );
  });

  it("but not behind a stage's outcome, a claim or a batch", () => {
    expectSound(tableWith({ SECOND }));
    expectSound(tableWith({ SECOND, FIRST: { rests: 'backlog', then: { claimed: 'SECOND' } } }));
    expectSound(tableWith({ SECOND, FIRST: { rests: 'not_due', then: { picked: 'SECOND' } } }));
  });
});
