import { expect, it } from 'vitest';
import { engineFactsOf } from '../../src/core/run-look.js';

it.each([
  [{ is: 'alive', wedgedBy: null }, { engine: 'alive' }],
  [
    { is: 'alive', wedgedBy: 'boom' },
    { engine: 'alive', wedgedBy: 'boom' },
  ],
  [
    { is: 'gone', how: 'terminated' },
    { engine: 'gone', closedAs: 'terminated' },
  ],
  [{ is: 'unknown' }, { engine: 'unknown' }],
] as const)('hands the look %o to the diagnosis as %o', (look, facts) => {
  expect(engineFactsOf(look)).toEqual(facts);
});
