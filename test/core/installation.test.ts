import { describe, expect, it } from 'vitest';
import {
  copyProblem,
  foreignProblem,
  type Identity,
  isForeign,
  nameIn,
  nameProblem,
  plainNameIn,
} from '../../src/core/installation.js';

const OURS = '0b6a0c52-3a62-4a36-8a51-0d1f6d6c1a01';
const THEIRS = '7d0f7a9e-7a3e-4c3f-9a52-5f2b1b0c2b02';
const identity: Identity = { id: OURS, name: null, cluster: '745', oid: '16384' };

describe('the names of an installation in Temporal', () => {
  it('are plain without a name, and begin with the name otherwise', () => {
    expect([nameIn('', 'canary'), nameIn('blue', 'canary')]).toEqual(['canary', 'blue.canary']);
  });

  it('are told from the names of others', () => {
    expect(plainNameIn('', 'canary:1:1')).toBe('canary:1:1');
    expect(plainNameIn('blue', 'blue.canary:1:1')).toBe('canary:1:1');
    expect(plainNameIn('blue', 'canary:1:1')).toBeNull();
    expect(plainNameIn('blue', 'bluer.canary:1:1')).toBeNull();
  });
});

describe('a run or a schedule', () => {
  it('is foreign only where both ids are known and differ', () => {
    expect(isForeign({ installation: THEIRS }, OURS)).toBe(true);
    expect(isForeign({ installation: OURS }, OURS)).toBe(false);
    expect(isForeign({ version: '0.1.0' }, OURS)).toBe(false);
    expect(isForeign(undefined, OURS)).toBe(false);
    expect(isForeign({ installation: THEIRS }, undefined)).toBe(false);
  });
});

describe('a database in another place than its installation was set up in', () => {
  it('is a copy, and the sentence has a remedy for the copy and for the move', () => {
    expect(copyProblem(identity, { cluster: '999', oid: '16384' })).toBe(
      `this database is a copy: installation ${OURS} was set up in database 16384 of server 745, and this is database 16384 ` +
        'of server 999. If the original is still in use, run npm run installation -- new. If the database has moved here ' +
        'and the original is never used again, run npm run installation -- moved.',
    );
    expect(copyProblem(identity, { cluster: '745', oid: '20000' })).toContain('database 20000 of server 745');
  });

  it('is no copy where a server that does not tell its identifier has the same oid', () => {
    expect(copyProblem(identity, { cluster: null, oid: '16384' })).toBeNull();
    expect(copyProblem({ ...identity, cluster: null }, { cluster: '745', oid: '16384' })).toBeNull();
    expect(copyProblem(identity, { cluster: '745', oid: '16384' })).toBeNull();
  });
});

describe('a name other than the one that the runs of the database have', () => {
  it('is refused with the name to set', () => {
    expect(nameProblem(identity, 'blue')).toBeNull();
    expect(nameProblem({ ...identity, name: 'blue' }, 'blue')).toBeNull();
    expect(nameProblem({ ...identity, name: 'blue' }, '')).toBe(
      'INSTALLATION is not set, and the runs of this database are in Temporal under the name blue. Set INSTALLATION=blue. ' +
        'To give it other names, stop all its processes and run npm run installation -- rename.',
    );
    expect(nameProblem({ ...identity, name: '' }, 'blue')).toContain(
      'INSTALLATION is blue, and the runs of this database are in Temporal without a name. Unset INSTALLATION.',
    );
  });
});

it('the refusal of a namespace in use names both installations and the remedies', () => {
  const foreign = { schedule: 'sweep-canary', installation: THEIRS };
  expect(foreignProblem(foreign, { id: OURS, name: '', namespace: 'default' })).toBe(
    `the schedule sweep-canary in the namespace default belongs to installation ${THEIRS}, and this database is installation ` +
      `${OURS}. Give this installation a namespace of its own with TEMPORAL_NAMESPACE, or names of its own with INSTALLATION=<name>.`,
  );
  expect(foreignProblem(foreign, { id: OURS, name: 'blue', namespace: 'default' })).toContain(
    'or another name with INSTALLATION.',
  );
});
