import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diagramOf } from '../../src/core/diagram.js';
import { ERROR_CLASSES } from '../../src/core/error-class.js';
import {
  type Edge,
  edgesOf,
  exhaustedState,
  isAwaits,
  isEnd,
  isLegalMove,
  rescuedState,
  retryStates,
  rowOf,
  stagesIn,
  stateNamesOf,
} from '../../src/core/machine.js';
import type { Pipeline, StateRow } from '../../src/core/pipeline.js';
import { assertSoundTable } from '../../src/core/sound-table.js';
import { entryStep } from '../../src/core/step.js';
import { PIPELINES } from '../../src/domains/tables.js';
import { type Choose, picks, soundTables } from '../support/random-tables.js';
import { SPEC_TABLES } from '../support/spec-tables.js';
import { SAMPLE_TABLES } from '../support/tables.js';
import { walk } from '../support/walk.js';

const RUNS = { numRuns: 200 };

function tables(): fc.Arbitrary<Pipeline> {
  const written: readonly Pipeline[] = [...SAMPLE_TABLES, ...SPEC_TABLES, ...Object.values(PIPELINES)];
  return fc.oneof({ arbitrary: soundTables(), weight: 4 }, { arbitrary: fc.constantFrom(...written), weight: 1 });
}

function stagesOf(pipeline: Pipeline): string[] {
  return Object.values(pipeline.states).flatMap((row) => stagesIn(row).map((each) => each.stage));
}

function liveStates(pipeline: Pipeline): string[] {
  return stateNamesOf(pipeline).filter((state) => !isEnd(rowOf(pipeline, state)));
}

describe('a random sound table', () => {
  it('is accepted', () => {
    fc.assert(
      fc.property(tables(), (pipeline) => {
        assertSoundTable(pipeline);
      }),
      RUNS,
    );
  });

  it('every walk ends, in a final state or left to the sweep, after no more steps than there are states and stages', () => {
    fc.assert(
      fc.property(tables(), picks(), (pipeline, pick) => {
        const limit = stateNamesOf(pipeline).length + stagesOf(pipeline).length;
        const walked = walk(pipeline, pick, limit + 1);
        expect(isEnd(rowOf(pipeline, walked.endedIn)) || walked.left).toBe(true);
        expect(walked.moves.length + walked.stages.length).toBeLessThanOrEqual(limit);
        expect(new Set(walked.stages).size).toBe(walked.stages.length);
      }),
      RUNS,
    );
  });

  it('every move of a walk is legal and is an arrow of the diagram, by the same word', () => {
    fc.assert(
      fc.property(tables(), picks(), (pipeline, pick) => {
        const { moves } = walk(pipeline, pick, 100);
        expect(moves.filter((move) => !isLegalMove(pipeline, move))).toEqual([]);
        const arrows = new Set(edgesOf(pipeline).map(textOf));
        expect(moves.map(textOf).filter((move) => !arrows.has(move))).toEqual([]);
      }),
      RUNS,
    );
  });

  it('no fan-out begins without its units', () => {
    fc.assert(
      fc.property(tables(), picks(), (pipeline, pick) => {
        expect(walk(pipeline, pick, 100).unfed).toEqual([]);
      }),
      RUNS,
    );
  });

  it('every live state can be cancelled, rescued and retried; all but those that wait for a person can be exhausted', () => {
    fc.assert(
      fc.property(tables(), (pipeline) => {
        expect(retryStates(pipeline)).toContain(pipeline.retries?.[0] ?? pipeline.start);
        const live = liveStates(pipeline);
        const moves = live.flatMap((from): Move[] => [
          { from, to: pipeline.cancelled, via: 'cancel' },
          { from, to: rescuedState(pipeline, from), via: 'rescue' },
          ...retryStates(pipeline).map((to) => ({ from, to, via: 'retry' }) as const),
        ]);
        expect(moves.filter((move) => !isLegalMove(pipeline, move))).toEqual([]);
        const exhaustions = live.flatMap((from) =>
          [null, ...ERROR_CLASSES].map((error): Move => ({
            from,
            to: exhaustedState(pipeline, from, error),
            via: 'exhaustion',
          })),
        );
        const awaiting = live.filter((state) => isAwaits(rowOf(pipeline, state)));
        const impossible = exhaustions.filter((move) => !isLegalMove(pipeline, move));
        expect([...new Set(impossible.map(({ from }) => from))]).toEqual(awaiting);
      }),
      RUNS,
    );
  });

  it('a retry, a reopening and a rescue lead to where an item goes on', () => {
    fc.assert(
      fc.property(tables(), (pipeline) => {
        const reopened = edgesOf(pipeline).flatMap(({ via, to }) => (via === 'reopen' ? [to] : []));
        const rescued = liveStates(pipeline).map((state) => rescuedState(pipeline, state));
        const entered = (states: string[]) => states.map((state) => entryStep(pipeline, state, 2)?.do);
        expect(entered([...retryStates(pipeline), ...reopened, ...rescued])).not.toContain('end');
        // In a new visit no stage has returned units yet.
        expect(entered([...retryStates(pipeline), ...reopened])).not.toContain('next');
      }),
      RUNS,
    );
  });

  it('no move at all leads out of a final state that does not reopen', () => {
    fc.assert(
      fc.property(tables(), (pipeline) => {
        const ends = stateNamesOf(pipeline).filter((state) => isClosed(rowOf(pipeline, state)));
        const vias = [
          'outcome',
          'spent',
          'cancel',
          'exhaustion',
          'rescue',
          'reopen',
          'retry',
          'pause',
          'resume',
        ] as const;
        const moves = ends.flatMap((from) =>
          stateNamesOf(pipeline).flatMap((to) => vias.map((via): Move => ({ from, to, via }))),
        );
        expect(moves.filter((move) => isLegalMove(pipeline, move))).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });

  it('the diagram shows every state, stage and move', () => {
    fc.assert(
      fc.property(tables(), (pipeline) => {
        const diagram = diagramOf(pipeline);
        const words = new Set(diagram.split(/[^\w-]+/));
        expect([...stateNamesOf(pipeline), ...stagesOf(pipeline)].filter((name) => !words.has(name))).toEqual([]);
        expect(edgesOf(pipeline).filter((edge) => !isShown(diagram, edge))).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});

type Move = Pick<Edge, 'from' | 'to' | 'via'>;

function textOf({ from, to, trigger, via }: Edge): string {
  return `${from} ${to} ${trigger} ${via}`;
}

function isClosed(row: StateRow): boolean {
  return isEnd(row) && row.reopens === undefined;
}

function isShown(diagram: string, { from, to, trigger, via }: Edge): boolean {
  if (via === 'outcome' || via === 'spent' || via === 'reopen')
    return diagram.includes(`${from} --> ${to}: ${trigger}\n`);
  return new RegExp(`${trigger} → ${to} from (every live state|.*\\b${from}\\b.*)\n`).test(diagram);
}

/** Changes one target of a row, or of the table itself, to the state named. */
function retarget(pipeline: Pipeline, pick: Choose, to: string): Pipeline {
  const places = placesOf(pipeline);
  const place = places[pick() % places.length];
  if (!place) throw new Error('a table without a target');
  return place(to);
}

function placesOf(pipeline: Pipeline): ((to: string) => Pipeline)[] {
  const withRow = (state: string, row: object): Pipeline => ({
    ...pipeline,
    states: { ...pipeline.states, [state]: row as StateRow },
  });
  const inRows = Object.entries(pipeline.states).flatMap(([state, row]) => {
    if (isEnd(row)) return [(to: string) => withRow(state, { ...row, reopens: to })];
    const outcomes = Object.keys(row.then).map(
      (outcome) => (to: string) => withRow(state, { ...row, then: { ...row.then, [outcome]: to } }),
    );
    const spent = stagesIn(row).map((stage, at) => (to: string) => {
      return withRow(state, { ...row, does: stagesIn(row).with(at, { ...stage, spent: { move: to } }) });
    });
    return [...outcomes, ...spent];
  });
  return [
    (start) => ({ ...pipeline, start }),
    (cancelled) => ({ ...pipeline, cancelled }),
    (exhausted) => ({ ...pipeline, rescue: { ...pipeline.rescue, exhausted } }),
    (resumesAt) => ({ ...pipeline, rescue: { ...pipeline.rescue, resumesAt } }),
    ...inRows,
  ];
}

describe('a sound table with one random fault', () => {
  it('a target that is no state is refused', () => {
    fc.assert(
      fc.property(tables(), picks(), (pipeline, pick) => {
        expect(() => assertSoundTable(retarget(pipeline, pick, 'NOWHERE'))).toThrow("no state 'NOWHERE'");
      }),
      RUNS,
    );
  });

  it('an outcome that leads back is refused', () => {
    fc.assert(
      fc.property(tables(), picks(), (pipeline, pick) => {
        const passed = walk(pipeline, pick, 100).moves.map(({ from }) => from);
        const from = passed.at(-1);
        const back = passed[pick() % passed.length];
        fc.pre(from !== undefined && back !== undefined);
        const row = rowOf(pipeline, from);
        const states = {
          ...pipeline.states,
          [from]: { ...row, then: { ...('then' in row && row.then), back } } as StateRow,
        };
        expect(() => assertSoundTable({ ...pipeline, states })).toThrow('loop ');
      }),
      RUNS,
    );
  });

  it('a stage that comes twice is refused', () => {
    fc.assert(
      fc.property(tables(), (pipeline) => {
        const [stage] = stagesOf(pipeline);
        fc.pre(stage !== undefined);
        const doubled = Object.values(pipeline.states).flatMap(stagesIn)[0];
        const states = { ...pipeline.states, AGAIN: { does: doubled, then: { done: pipeline.cancelled } } as StateRow };
        expect(() => assertSoundTable({ ...pipeline, states })).toThrow(`stage '${stage}' stands in two places`);
      }),
      { numRuns: 100 },
    );
  });

  it('is refused, or strands no item', () => {
    let accepted = 0;
    fc.assert(
      fc.property(tables(), picks(), (pipeline, pick) => {
        const states = stateNamesOf(pipeline);
        const changed = retarget(pipeline, pick, states[pick() % states.length] ?? '');
        if (!isSound(changed)) return;
        accepted += 1;
        const limit = states.length + stagesOf(changed).length;
        const walked = walk(changed, pick, limit + 1);
        expect(isEnd(rowOf(changed, walked.endedIn)) || walked.left).toBe(true);
        expect(walked.unfed).toEqual([]);
        expect(walked.moves.filter((move) => !isLegalMove(changed, move))).toEqual([]);
      }),
      RUNS,
    );
    expect(accepted).toBeGreaterThan(RUNS.numRuns / 10);
  });
});

function isSound(pipeline: Pipeline): boolean {
  try {
    assertSoundTable(pipeline);
    return true;
  } catch {
    return false;
  }
}
