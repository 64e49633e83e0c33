import { type ChildOptions, type KillableChild, type Question, startKillableChild } from './killable-child.js';
import { createTurns } from './turns.js';

export interface KeptChild {
  /** Waits for its turn, then asks. `onTurn` is called with the number of questions ahead whenever it changes. The time limit
   *  begins with the turn. */
  ask(question: Question, onTurn: (ahead: number) => void): Promise<unknown>;
  /** Undefined: there is no such process at the moment. */
  pid(): number | undefined;
  /** How many questions it has, with those that wait. */
  load(): number;
  close(): void;
}

/** A process that is kept warm between questions, and replaced when it is gone, was killed or could not be started. A thread would
 *  not do, because a thread can't be ended in the middle of native code. */
export function createKeptChild(options: ChildOptions): KeptChild {
  const turns = createTurns();
  let child: Promise<KillableChild> | undefined;
  let living: KillableChild | undefined;
  let load = 0;

  async function warmChild(): Promise<KillableChild> {
    if (child && (await child.catch(() => undefined))?.isAlive()) return child;
    child = startKillableChild(options);
    living = await child;
    return living;
  }

  async function askInTurn(question: Question, onTurn: (ahead: number) => void): Promise<unknown> {
    const done = await turns.take(question.signal, onTurn);
    try {
      question.signal.throwIfAborted();
      return await (await warmChild()).ask(question);
    } finally {
      // The next question gets its turn even if this one failed.
      done();
    }
  }

  return {
    ask(question, onTurn) {
      load += 1;
      return askInTurn(question, onTurn).finally(() => (load -= 1));
    },
    pid: () => (living?.isAlive() ? living.pid : undefined),
    load: () => load,
    close: () => living?.kill(),
  };
}
