import { serveParent } from '../../../src/adapters/serve-parent.js';

const held: Buffer[] = [];

/** Does as it is asked, for the tests of processes that can be killed. */
await serveParent({
  async answer(question, tell) {
    if (question === 'hang') for (;;);
    if (question === 'die') process.exit(7);
    if (question === 'fail') throw Object.assign(new Error('I cannot'), { code: 'cannot' });
    if (question === 'grow') held.push(Buffer.alloc(300 * 1_024 ** 2, 1));
    if (question === 'environment') return process.env;
    tell('begun');
    return { pid: process.pid, question };
  },
  warm: () => Promise.resolve(),
});
