import { describe, expect, it } from 'vitest';
import type { Pipeline } from '../../../src/core/pipeline.js';
import type { Claimed, Ending } from '../../../src/db/spine/attempt.js';
import { claimTask } from '../../../src/db/spine/claim/claim.js';
import { commitAttempt } from '../../../src/db/spine/commit.js';
import { rescueItem } from '../../../src/db/spine/control.js';
import { recordRefusal, rereadAttempt } from '../../../src/db/spine/reread.js';
import type { Sql } from '../../../src/ports/sql.js';
import type { Save } from '../../../src/ports/stage.js';
import {
  attemptsOf,
  auditOf,
  effectsOf,
  itemOf,
  lastMetadataOf,
  movesOf,
  taskOf,
  tasksOf,
  trailFaults,
} from '../../support/facts.js';
import { byHand, doneWith, effectOf, FAILURE, findIn, ROOT, useSpine } from '../../support/spine.js';
import { admitting, brief, resting, reviewed, several, spreadAll, spreadLast, straight } from '../../support/tables.js';

const spine = useSpine();

/** The same effect by a function: the commit is then a transaction of several statements. */
function effectByFunction(attempt: Claimed): Save {
  return async (transaction: Sql) => {
    const { itemId, visit, stage, unit, fence } = attempt;
    await transaction.query(
      'INSERT INTO canary_effects (item_id, visit, stage, unit, attempt) VALUES ($1, $2, $3, $4, $5)',
      [itemId, visit, stage, unit, fence],
    );
  };
}

const SAVES: [string, (attempt: Claimed) => Save][] = [
  ['a statement', effectOf],
  ['a function', effectByFunction],
];

describe.each(SAVES)('a stage that is done and saves by %s', (_, save) => {
  async function finishBy(pipeline: Pipeline, attempt: Claimed, more: { outcome?: string; units?: string[] } = {}) {
    return commitAttempt(spine.pool, pipeline, attempt, { is: 'done', outcome: 'done', save: save(attempt), ...more });
  }

  it('moves its item on: effect, move, audit entry and attempt together', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();

    const committed = await finishBy(straight, await hand.claimed(id));

    expect(committed).toMatchObject({ do: 'stage', state: 'CHECKING', stage: 'check', visit: 1 });
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'CHECKING', version: 2 });
    expect(await effectsOf(spine.pool, id)).toEqual(['1 read']);
    expect(await attemptsOf(spine.pool, id)).toEqual(['read done']);
    expect((await auditOf(spine.pool, id)).at(-1)).toMatchObject({ trigger: 'read-done', actor: 'worker' });
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ status: 'done', outcome: 'done' });
  });

  it('ends its item by the outcome that the row names', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();

    expect(await finishBy(straight, await hand.claimed(id), { outcome: 'empty' })).toEqual({ do: 'end', why: 'final' });
    expect(await itemOf(spine.pool, id)).toMatchObject({
      state: 'DONE',
      endedAt: expect.any(Date) as Date,
      startAfter: null,
    });
    expect((await auditOf(spine.pool, id)).at(-1)).toMatchObject({ trigger: 'nothing-to-do' });
  });

  it('goes on with the next stage of the same state, without a move', async () => {
    const hand = byHand(spine.pool, several);
    const id = await hand.make();

    expect(await finishBy(several, await hand.claimed(id))).toMatchObject({ do: 'stage', stage: 'enrich' });
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'WORKING', version: 1 });
    expect(await effectsOf(spine.pool, id)).toEqual(['1 extract']);
  });

  it('feeds the fan-out of its own state', async () => {
    const hand = byHand(spine.pool, spreadAll);
    const id = await hand.make();

    const committed = await finishBy(spreadAll, await hand.claimed(id), { units: ['b', 'a', 'c'] });

    expect(committed).toMatchObject({ do: 'units', stage: 'upload', units: ['b', 'a', 'c'], width: 4 });
    expect((await tasksOf(spine.pool, id)).filter((each) => each.unit !== '').map((each) => each.unit)).toEqual([
      'b',
      'a',
      'c',
    ]);
  });

  it('feeds the fan-out of the state it moves to', async () => {
    const hand = byHand(spine.pool, spreadLast);
    const id = await hand.make();

    const committed = await finishBy(spreadLast, await hand.claimed(id), { units: ['x', 'y'] });

    expect(committed).toMatchObject({ do: 'units', state: 'COPYING', stage: 'copy', units: ['x', 'y'] });
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'COPYING' });
  });

  it('writes only the task if it is a unit', async () => {
    const hand = byHand(spine.pool, spreadAll);
    const id = await hand.make();
    await hand.finish(await hand.claimed(id), 'done', ['a', 'b']);
    const before = await itemOf(spine.pool, id);

    expect(await finishBy(spreadAll, await hand.claimed(id, { stage: 'upload', unit: 'b' }))).toEqual({ do: 'next' });
    expect(await itemOf(spine.pool, id)).toEqual(before);
    expect(await effectsOf(spine.pool, id)).toEqual(['1 prepare', '1 upload b']);
  });

  it('enters a state that admits only so many', async () => {
    const pipeline = { ...admitting, name: `admitting-${save.name}` };
    const hand = byHand(spine.pool, pipeline);
    const id = await hand.make();

    expect(await finishBy(pipeline, await hand.claimed(id))).toMatchObject({ do: 'stage', stage: 'cool' });
    expect(await effectsOf(spine.pool, id)).toEqual(['1 heat']);
    expect(await movesOf(spine.pool, id)).toEqual(['>WAITING', 'WAITING>HEATING', 'HEATING>COOLING']);
  });

  it('awaits a person where the row it moves to does', async () => {
    const hand = byHand(spine.pool, reviewed);
    const id = await hand.make();

    expect(await finishBy(reviewed, await hand.claimed(id), { outcome: 'concerns' })).toEqual({
      do: 'wait',
      state: 'NEEDS_REVIEW',
      forMs: null,
      reason: 'awaiting_decision',
    });
  });

  it('with an old fence is refused and leaves no trace', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const zombie = await hand.claimed(id, { worker: 'frozen' });
    const healthy = await hand.claimed(id, { worker: 'healthy' });
    const before = await everything(id);

    expect(await finishBy(straight, zombie)).toBe('superseded');
    expect(await everything(id)).toEqual(before);
    expect(await finishBy(straight, healthy)).toHaveProperty('do');
    expect(await finishBy(straight, zombie)).toBe('superseded');
    expect(await effectsOf(spine.pool, id)).toEqual(['1 read']);
  });

  it.each([straight, several])(
    'is refused the second time: nothing is done twice under one fence',
    async (pipeline) => {
      const hand = byHand(spine.pool, pipeline);
      const id = await hand.make();
      const attempt = await hand.claimed(id);
      await finishBy(pipeline, attempt);

      expect(await finishBy(pipeline, attempt)).toBe('superseded');
      expect(await effectsOf(spine.pool, id)).toHaveLength(1);
    },
  );

  it.each([`state = 'CHECKING'`, 'visit = visit + 1', 'epoch = epoch + 1', 'ended_at = now()'])(
    'is refused when the row has %s by then, whatever its task says',
    async (change) => {
      const hand = byHand(spine.pool, straight);
      const id = await hand.make();
      const attempt = await hand.claimed(id);
      await spine.pool.query(`UPDATE items SET ${change} WHERE id = $1`, [id]);

      expect(await finishBy(straight, attempt)).toBe('superseded');
      expect(await effectsOf(spine.pool, id)).toEqual([]);
    },
  );

  it('is refused after its error was committed', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const attempt = await hand.claimed(id);
    await hand.commit(attempt, { is: 'error', error: FAILURE, retryInMs: 0 });

    expect(await finishBy(straight, attempt)).toBe('superseded');
    expect(await effectsOf(spine.pool, id)).toEqual([]);
  });
});

describe('a save that fails', () => {
  const failing: [string, Save][] = [
    ['a statement', { text: 'INSERT INTO canary_effects (item_id) SELECT guard.item_id FROM guard', values: [] }],
    [
      'a function',
      async (transaction) => {
        await transaction.query('INSERT INTO canary_effects (stage) VALUES (NULL)');
      },
    ],
    [
      'a function that hides it',
      async (transaction) => {
        await transaction.query('SELECT 1/0').catch(() => undefined);
      },
    ],
    ['a function with an error of its own', () => Promise.reject(new Error('no room'))],
  ];

  it.each(failing)('leaves nothing behind as %s, whether the item moves or not', async (_, save) => {
    for (const [pipeline, outcome, units] of [
      [straight, 'done'],
      [several, 'done'],
      [spreadAll, 'done', ['u']],
    ] as const) {
      const hand = byHand(spine.pool, pipeline);
      const id = await hand.make();
      const attempt = await hand.claimed(id);
      const before = await everything(id);

      await expect(hand.commit(attempt, { is: 'done', outcome, save, ...(units && { units }) })).rejects.toThrow();

      expect(await everything(id)).toEqual(before);
      expect(await rereadAttempt(spine.pool, attempt)).toBe('not_committed');
    }
  });

  it('is refused before it runs if it does not draw from guard', async () => {
    const hand = byHand(spine.pool, straight);
    const attempt = await hand.claimed(await hand.make());
    const save = { text: `INSERT INTO canary_effects (stage) VALUES ('loose')`, values: [] };

    await expect(hand.commit(attempt, { is: 'done', outcome: 'done', save })).rejects.toThrow('FROM guard');
  });

  it('is refused before a limited state too if it does not draw from guard', async () => {
    const pipeline = { ...admitting, name: 'admitting-loosely' };
    const hand = byHand(spine.pool, pipeline);
    const attempt = await hand.claimed(await hand.make());
    const save = { text: `INSERT INTO canary_effects (stage) VALUES ('loose')`, values: [] };

    await expect(hand.commit(attempt, { is: 'done', outcome: 'done', save })).rejects.toThrow('FROM guard');
  });
});

describe('a fact that a save returns from its transaction', () => {
  const GIVEN = { version: '1.0.0' };
  const save = () => Promise.resolve(GIVEN);

  it.each([
    ['the move follows from the table', straight],
    ['the row is asked what comes next', admitting],
  ])('is in the audit entry and in the note where %s', async (_, pipeline) => {
    const hand = byHand(spine.pool, pipeline);
    const id = await hand.make();
    const claimed = await hand.claimed(id);

    await hand.commit(claimed, { is: 'done', outcome: 'done', note: { size: 3 }, save });

    expect(await lastMetadataOf(spine.pool, id)).toMatchObject({ size: 3, ...GIVEN });
    expect(await taskOf(spine.pool, id, claimed.stage)).toMatchObject({ note: { size: 3, ...GIVEN } });
  });
});

describe('a row that names the system', () => {
  it('has the system as the mover of its outcomes, and does not wake the run that made the move', async () => {
    const { READING } = straight.states;
    const bySystem: Pipeline = { ...straight, states: { ...straight.states, READING: { ...READING, by: 'system' } } };
    const hand = byHand(spine.pool, bySystem);
    const id = await hand.make();

    await hand.walk(id, 'read');

    expect((await auditOf(spine.pool, id)).at(-1)).toMatchObject({ actor: 'system', actorType: 'system' });
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'CHECKING', wakeAfter: null });
  });
});

describe('a save statement', () => {
  it('may begin with a WITH of its own, moving into a limited state or not', async () => {
    for (const pipeline of [straight, { ...admitting, name: 'admitting-with' }]) {
      const hand = byHand(spine.pool, pipeline);
      const id = await hand.make();
      const save = {
        text: `WITH twice AS (SELECT * FROM guard, generate_series(1, $1::int))
          INSERT INTO canary_effects (item_id, visit, stage, attempt) SELECT item_id, visit, stage, $2 FROM twice`,
        values: [2, 7],
      };
      await hand.commit(await hand.claimed(id), { is: 'done', outcome: 'done', save });
      expect(await effectsOf(spine.pool, id)).toHaveLength(2);
    }
  });
});

describe('units', () => {
  it('named twice are one, in the window too, or two attempts would fight over it', async () => {
    const hand = byHand(spine.pool, spreadAll);
    const id = await hand.make();

    const committed = await hand.finish(await hand.claimed(id), 'done', ['a', 'b', 'a']);

    expect(committed).toMatchObject({ units: ['a', 'b'] });
  });

  it('need a name', async () => {
    const hand = byHand(spine.pool, spreadAll);
    const id = await hand.make();
    const attempt = await hand.claimed(id);

    await expect(hand.finish(attempt, 'done', ['a', ''])).rejects.toThrow('name');
    expect(await rereadAttempt(spine.pool, attempt)).toBe('not_committed');
  });

  it('are refused from a stage that no fan-out follows', async () => {
    const hand = byHand(spine.pool, straight);
    await expect(hand.finish(await hand.claimed(await hand.make()), 'done', ['a'])).rejects.toThrow(
      'no fan-out follows',
    );
  });

  it('may be none: the run asks the row, which goes on', async () => {
    const hand = byHand(spine.pool, spreadAll);
    const id = await hand.make();

    expect(await hand.finish(await hand.claimed(id), 'done', [])).toEqual({ do: 'next' });
    expect(await hand.next(id)).toMatchObject({ do: 'stage', stage: 'finish' });
  });

  it('commit while another of them is in the middle of its own save', async () => {
    const hand = byHand(spine.limited, spreadAll);
    const id = await hand.make();
    await hand.finish(await hand.claimed(id), 'done', ['slow', 'fast', 'late']);
    const slow = await hand.claimed(id, { stage: 'upload', unit: 'slow' });
    const fast = await hand.claimed(id, { stage: 'upload', unit: 'fast' });
    const finished: string[] = [];

    const save: Save = async () => {
      await hand.commit(fast, { is: 'done', outcome: 'done', save: effectByFunction(fast) });
      finished.push('fast');
      await hand.claimed(id, { stage: 'upload', unit: 'late' });
    };
    await hand.commit(slow, { is: 'done', outcome: 'done', save });

    expect(finished).toEqual(['fast']);
  });
});

describe('an error', () => {
  const error: Ending = { is: 'error', error: FAILURE, retryInMs: 60_000 };

  it.each([
    ['a stage', straight, {}],
    ['one of several stages', several, { stage: 'extract' }],
    ['a short stage', brief, {}],
  ])('of %s is counted, shown on the item and leaves the task to the next try', async (_, pipeline, where) => {
    const hand = byHand(spine.pool, pipeline);
    const id = await hand.make();
    const attempt = await hand.claimed(id, where);

    expect(await hand.commit(attempt, error)).toEqual({ do: 'next' });

    expect(await taskOf(spine.pool, id, attempt.stage)).toMatchObject({ status: 'waiting', errors: 1, crashes: 0 });
    expect(await itemOf(spine.pool, id)).toMatchObject({
      state: pipeline.start,
      version: 1,
      errorClass: 'NETWORK_ERROR',
    });
    expect(await attemptsOf(spine.pool, id)).toEqual([`${attempt.stage} error`]);
    expect(await effectsOf(spine.pool, id)).toEqual([]);
  });

  it('is written only to the task if it is of a unit', async () => {
    const hand = byHand(spine.pool, spreadAll);
    const id = await hand.make();
    await hand.finish(await hand.claimed(id), 'done', ['a']);

    await hand.commit(await hand.claimed(id, { stage: 'upload', unit: 'a' }), error);

    expect(await taskOf(spine.pool, id, 'upload', 'a')).toMatchObject({ status: 'waiting', errors: 1 });
    expect(await itemOf(spine.pool, id)).toMatchObject({ errorClass: null });
  });

  it('with a text that the database can not store is counted all the same', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const strange = { ...FAILURE, message: 'bad \u0000 byte and \ud800 half' };

    await hand.commit(await hand.claimed(id), { is: 'error', error: strange, retryInMs: 0 });
    await hand.commit(await hand.claimed(id), { is: 'spent', error: strange });

    expect(await itemOf(spine.pool, id)).toMatchObject({
      state: 'FAILED',
      errorMessage: 'bad \ufffd byte and \ufffd half',
    });
  });

  it('is forgotten by the item when it moves on', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await hand.commit(await hand.claimed(id), error);
    await hand.walk(id, 'read');

    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'CHECKING', errorClass: null, errorMessage: null });
  });

  it('with an old fence is refused', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const zombie = await hand.claimed(id);
    await hand.claimed(id);

    expect(await hand.commit(zombie, error)).toBe('superseded');
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ errors: 0, status: 'running' });
  });
});

describe('a note', () => {
  it('with text that JSON in the database refuses is kept, that text replaced', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const note = { 'a\u0000b': 'c\u0000d', half: '\ud83d', whole: '\ud83d\ude00', back: '\\u0000' };

    await hand.commit(await hand.claimed(id), { is: 'done', outcome: 'done', note });

    const { rows } = await spine.pool.query<{ note: unknown }>('SELECT note FROM tasks WHERE item_id = $1', [id]);
    expect(rows[0]?.note).toEqual({ 'a\ufffdb': 'c\ufffdd', half: '\ufffd', whole: '\ud83d\ude00', back: '\\u0000' });
  });
});

describe('spent tries', () => {
  const spent: Ending = { is: 'spent', error: { ...FAILURE, stage: 'check' } };

  it('move the item where the row says, with the reason', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await hand.walk(id, 'read', 'check:good');

    expect(await hand.commit(await hand.claimed(id), spent)).toEqual({ do: 'end', why: 'final' });
    expect(await itemOf(spine.pool, id)).toMatchObject({
      state: 'FAILED',
      endReason: 'NETWORK_ERROR',
      errorStage: 'check',
    });
    expect((await auditOf(spine.pool, id)).at(-1)).toMatchObject({
      from: 'WRITING',
      to: 'FAILED',
      trigger: 'disk-full',
    });
    expect(await taskOf(spine.pool, id, 'write')).toMatchObject({ status: 'failed', errors: 1 });
  });

  it('leave a trigger named after the stage where the row names none', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await hand.commit(await hand.claimed(id), spent);

    expect((await auditOf(spine.pool, id)).at(-1)).toMatchObject({ trigger: 'read-failed' });
  });

  it('skip the stage and go on with the next', async () => {
    const hand = byHand(spine.pool, several);
    const id = await hand.make();
    await hand.walk(id, 'extract');

    expect(await hand.commit(await hand.claimed(id, { stage: 'enrich' }), spent)).toMatchObject({ stage: 'judge' });
    expect(await taskOf(spine.pool, id, 'enrich')).toMatchObject({ status: 'failed' });
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'WORKING', errorClass: 'NETWORK_ERROR' });
  });

  it('skip the last stage and move the item as done', async () => {
    const hand = byHand(spine.pool, several);
    const id = await hand.make();
    await hand.walk(id, 'extract', 'enrich', 'judge', 'remember');

    expect(await hand.commit(await hand.claimed(id, { stage: 'summarise' }), spent)).toEqual({
      do: 'end',
      why: 'final',
    });
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'DONE' });
  });

  it('leave the item to the sweep: the run ends, the row says so, and a rescue gives the tries back', async () => {
    const hand = byHand(spine.pool, reviewed);
    const id = await hand.make();
    await hand.commit(await hand.claimed(id), { is: 'error', error: FAILURE, retryInMs: 0 });

    expect(await hand.commit(await hand.claimed(id), spent)).toEqual({ do: 'end', why: 'left' });

    expect(await itemOf(spine.pool, id)).toMatchObject({
      state: 'JUDGING',
      runEndedAt: expect.any(Date) as Date,
      endedAt: null,
    });
    expect(await taskOf(spine.pool, id, 'judge')).toMatchObject({ status: 'waiting', errors: 2 });
    const { rows: told } = await spine.pool.query('SELECT id, kind, owner, sentence FROM outbox WHERE item_id = $1', [
      id,
    ]);
    expect(told).toEqual([
      {
        id: `run_failed:${id}:1`,
        kind: 'run_failed',
        owner: null,
        sentence: `Its run ended because check failed and is not tried again (${FAILURE.class}: ${FAILURE.message}). Recovery takes over.`,
      },
    ]);
    await rescueItem(spine.pool, findIn(reviewed), { itemId: id, actor: ROOT });
    expect(await hand.claimed(id)).toMatchObject({ errors: 0, epoch: 2 });
  });

  it('fail only the unit', async () => {
    const hand = byHand(spine.pool, spreadAll);
    const id = await hand.make();
    await hand.finish(await hand.claimed(id), 'done', ['a', 'b']);

    expect(await hand.commit(await hand.claimed(id, { stage: 'upload', unit: 'a' }), spent)).toEqual({ do: 'next' });
    expect(await taskOf(spine.pool, id, 'upload', 'a')).toMatchObject({ status: 'failed' });
    expect(await taskOf(spine.pool, id, 'upload', 'b')).toMatchObject({ status: 'waiting' });
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'PROCESSING', errorClass: null });
  });
});

describe('a released attempt', () => {
  it.each([
    ['stage', ''],
    ['unit', 'a'],
  ])('of a %s costs nothing and is claimed again as an ordinary one', async (_, unit) => {
    const hand = byHand(spine.pool, spreadAll);
    const id = await hand.make();
    if (unit) await hand.finish(await hand.claimed(id), 'done', [unit]);
    const where = unit ? { stage: 'upload', unit } : {};

    expect(await hand.commit(await hand.claimed(id, where), { is: 'released', why: 'shutdown' })).toEqual({
      do: 'next',
    });
    expect(await hand.claimed(id, where)).toMatchObject({ fence: 2, errors: 0 });
    expect(await taskOf(spine.pool, id, where.stage ?? 'prepare', unit)).toMatchObject({ crashes: 0 });
  });
});

describe('a finished item', () => {
  it('has a trail without gaps and one effect a stage', async () => {
    const hand = byHand(spine.pool, resting);
    const id = await hand.make();
    await spine.pool.query(`UPDATE items SET state = 'queued' WHERE id = $1`, [id]);
    await hand.walk(id, 'convert', 'store');

    expect((await auditOf(spine.pool, id)).map((each) => each.version)).toEqual([1, 2, 3, 4]);
    expect(await effectsOf(spine.pool, id)).toEqual(['1 convert', '1 store']);
    const walked = await byHand(spine.pool, straight).make();
    await byHand(spine.pool, straight).walk(walked, 'read', 'check:good', 'write');
    expect(await trailFaults(spine.pool, walked)).toEqual([]);
  });

  it('takes no more commits and no more claims', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const attempt = await hand.claimed(id);
    await hand.finish(attempt, 'empty');

    expect(await hand.commit(attempt, doneWith(attempt, 'done'))).toBe('superseded');
    expect(await claimTask(spine.pool, straight, attempt)).toEqual({ is: 'superseded' });
  });
});

describe('a refused commit', () => {
  it('is counted for operators', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const zombie = await hand.claimed(id, { worker: 'frozen' });
    await recordRefusal(spine.pool, 'straight', zombie);

    const { rows } = await spine.pool.query(
      'SELECT pipeline, stage, unit, fence, worker FROM refusals WHERE item_id = $1',
      [id],
    );
    expect(rows).toEqual([{ pipeline: 'straight', stage: 'read', unit: '', fence: 1, worker: 'frozen' }]);
  });
});

/** All that is written of an item, but for beats. */
async function everything(id: string): Promise<unknown> {
  return {
    item: await itemOf(spine.pool, id),
    tasks: await tasksOf(spine.pool, id),
    attempts: await attemptsOf(spine.pool, id),
    effects: await effectsOf(spine.pool, id),
    moves: await movesOf(spine.pool, id),
  };
}
