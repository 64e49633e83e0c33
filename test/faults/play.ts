import { messageOf } from '../../src/core/errors.js';
import { until } from '../support/until.js';
import { type Asked, askWhileHeld } from './ask.js';
import { answerFaults, recoveryFaults } from './check.js';
import type { FaultCase, Group, Victim } from './fault-case.js';
import type { Field } from './field.js';

/** What came of one case. */
export interface Played extends Asked {
  fault: FaultCase;
  /** Everything that was not as it should be. */
  wrong: string[];
}

/** The slowest way to an end: a rescue by the next sweep, a breaker's probe, a backoff or two. */
const ENDS_WITHIN_MS = 90_000;

/** Plays the cases of a group side by side: the items they need, the damage, the questions while it is held, what a person does
 *  about it, and a look at what was done. A case that can't be played is wrong, and the others go on. */
export async function playGroup(field: Field, { cases, strike, mend }: Group): Promise<Played[]> {
  const plays = cases.map((fault) => createPlay(field, fault));
  await Promise.all(plays.map((each) => each.prepare()));
  const struckAt = Date.now();
  await strike?.(field);
  await Promise.all(plays.map((each) => each.hold(struckAt)));
  await mend?.(field);
  return Promise.all(plays.map((each) => each.end()));
}

interface Play {
  prepare(): Promise<void>;
  hold(struckAt: number): Promise<void>;
  end(): Promise<Played>;
}

function createPlay(field: Field, fault: FaultCase): Play {
  const played: Played = { fault, wrong: [], answers: {}, settling: {}, settledMs: null, right: null, differing: null };
  let prepared = '';
  let victim: Victim | undefined;

  /** Nothing more is done once something could not be. */
  async function unlessLost(act: () => Promise<void>): Promise<void> {
    if (played.wrong.length > 0 && !victim) return;
    try {
      await act();
    } catch (error) {
      played.wrong.push(messageOf(error));
    }
  }

  return {
    prepare: () =>
      unlessLost(async () => {
        prepared = (await fault.prepare?.(field)) ?? '';
      }),
    hold: (struckAt) =>
      unlessLost(async () => {
        victim = await fault.create(field, { prepared, struckAt });
        Object.assign(played, await askWhileHeld(field, fault, victim));
        played.wrong.push(...answerFaults(fault, played));
      }),
    async end() {
      const met = victim;
      if (!met) return played;
      await unlessLost(async () => {
        await fault.heals?.(field, met);
        const isThere = async () => (await field.item(met.id)).state === fault.expects.ends || null;
        await until(`it is in ${fault.expects.ends}`, isThere, ENDS_WITHIN_MS);
      });
      await unlessLost(async () => void played.wrong.push(...(await recoveryFaults(field, fault, met.id))));
      return played;
    },
  };
}
