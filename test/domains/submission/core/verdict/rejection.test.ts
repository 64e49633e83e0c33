import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Ended, rejectionOf } from '../../../../../src/domains/submission/core/verdict/rejection.js';
import { CRITERIA } from '../../../../../src/domains/submission/core/judgement/judgement.js';
import { edgesOf, isEnd, rowOf } from '../../../../../src/core/machine.js';
import { ERROR_CLASSES } from '../../../../../src/core/error-class.js';
import { submission } from '../../../../../src/domains/submission/table.js';

const FINDING = {
  name: 'Runs what it downloads',
  severity: 'critical',
  category: 'remote-execution',
  file: 'scripts/install.sh',
  line: 7,
  remedy: 'Ship the script with the skill.',
};

function ended(trigger: string, given: Partial<Ended> = {}): Ended {
  return { trigger, said: null, error: null, findings: [], judgement: null, needed: null, ...given };
}

function failed(stage: string, given: Partial<NonNullable<Ended['error']>> = {}): Ended['error'] {
  return { class: 'NETWORK_ERROR', message: 'connect ECONNREFUSED 10.1.2.3:443', stage, ...given };
}

describe('a rejected submission is told why, where and what to do', () => {
  it('by the scan: each finding that stood in the way, with file and line', () => {
    const hint = { ...FINDING, severity: 'medium', name: 'A hint' };
    const { summary, reasons, more } = rejectionOf(ended('tier1-fail', { findings: [hint, FINDING] }));
    expect(summary).toBe('The scan found 1 thing that no published skill may hold.');
    expect(more).toBe(0);
    expect(reasons).toEqual([
      {
        why: 'Runs what it downloads (critical)',
        file: 'scripts/install.sh',
        line: 7,
        field: null,
        remedy: 'Ship the script with the skill.',
      },
    ]);
  });

  it('by the scan of its format: with the fault in it, while the matches of other findings are not repeated', () => {
    const yaml = {
      name: 'Front matter is not valid YAML',
      severity: 'medium',
      category: 'structure',
      file: 'SKILL.md',
    };
    const told = rejectionOf(
      ended('tier1-fail', {
        findings: [
          { ...yaml, line: 3, match: 'Map keys must be unique (column 1)', remedy: 'Mend the YAML.' },
          { ...yaml, line: null, name: 'Hidden file', file: '.x', match: '.x', remedy: 'Rename it.' },
          { ...FINDING, match: 'curl x | sh' },
        ],
      }),
    );
    expect(told.reasons.map(({ why, line }) => [why, line])).toEqual([
      ['Front matter is not valid YAML (medium): Map keys must be unique (column 1)', 3],
      ['Hidden file (medium)', null],
      ['Runs what it downloads (critical)', 7],
    ]);
  });

  it('by the scan, with too many findings: the first of them, and the number of the others', () => {
    const findings = Array.from({ length: 120 }, (_, line) => ({ ...FINDING, line: line + 1 }));
    const { summary, reasons, more } = rejectionOf(ended('tier1-fail', { findings }));
    expect([reasons.length, more]).toEqual([50, 70]);
    expect(summary).toContain('120 things');
  });

  it.each([
    ['SCAN_TIMEOUT', 'Every try took longer than a scan may.'],
    ['UNKNOWN', 'Every try failed on our side.'],
  ] as const)('by a scan that never ended (%s)', (errorClass, why) => {
    const error = failed('scanTier1', { class: errorClass });
    expect(rejectionOf(ended('tier1-timeout', { error })).reasons).toMatchObject([{ why }]);
  });

  it('by an address that is wrong: the field, its fault and its remedy', () => {
    const message =
      'repoUrl names a repository that is private or does not exist; make it public or correct the address';
    const error = failed('fetch', { class: 'BAD_INPUT', message });
    expect(rejectionOf(ended('fetch-failed', { error })).reasons).toEqual([
      {
        why: 'repoUrl names a repository that is private or does not exist',
        file: null,
        line: null,
        field: 'repoUrl',
        remedy: 'Make it public or correct the address.',
      },
    ]);
  });

  it.each([
    ['NETWORK_ERROR', 'could not be reached'],
    ['SCAN_TIMEOUT', 'took longer than it may'],
    ['STORAGE_ERROR', 'failed on our side'],
  ] as const)('by a fetch that failed (%s), without what was meant for us', (errorClass, words) => {
    for (const stage of ['fetch', 'fetchVendor']) {
      const told = rejectionOf(ended('fetch-failed', { error: failed(stage, { class: errorClass }) }));
      expect(told.reasons[0]?.why).toContain(words);
      expect(JSON.stringify(told)).not.toContain('10.1.2.3');
    }
  });

  it.each(['github.com could not be resolved', 'github.com has no address'])(
    'by a host that is not found (%s): that it was not the owner’s fault, and that a later try may do',
    (message) => {
      const { reasons, nextAction } = rejectionOf(ended('fetch-failed', { error: failed('fetch', { message }) }));
      expect(reasons[0]?.why).toMatch(/^github\.com could not be found by its name from here.* not yours\.$/);
      expect(reasons[0]?.remedy).toMatch(/nothing to put right: submit the skill again later/);
      expect(nextAction).toBe(reasons[0]?.remedy);
    },
  );

  it('by the judge: score, limits and concerns, quoted with file and line, each with its own remedy', () => {
    const told = rejectionOf(
      ended('tier2-fail', {
        needed: 45,
        judgement: {
          score: 41,
          limits: [{ because: 'The skill tells its reviewer which verdict to give.' }],
          concerns: [
            { criterion: 'leastPrivilege', text: 'It reads every key.', quote: { file: 'SKILL.md', line: 12 } },
            { criterion: 'securityNotes', text: 'Nothing is said of risks.', quote: null },
          ],
        },
      }),
    );
    expect(told.summary).toBe('The judge rejected it with 41 of 100 points; 45 are needed.');
    expect(told.reasons.map(({ why, file, line }) => [why, file, line])).toEqual([
      ['The skill tells its reviewer which verdict to give.', null, null],
      ['It reads every key.', 'SKILL.md', 12],
      ['Nothing is said of risks.', null, null],
    ]);
    expect(told.reasons[1]?.remedy).toContain('Ask only for the tools');
    expect(told.reasons[2]?.remedy).toContain('Add a section');
  });

  it.each(['admin-reject', 'review-reject'])('by a person (%s): in that person’s words', (trigger) => {
    const { reasons } = rejectionOf(ended(trigger, { said: 'It deletes\nthe home folder.' }));
    expect(reasons).toMatchObject([{ why: 'It deletes the home folder.' }]);
  });

  it('by recovery: which stage, and that the skill is not to blame', () => {
    const { reasons, nextAction } = rejectionOf(ended('stuck-exhausted', { error: failed('publish') }));
    expect(reasons[0]?.why).toBe(
      'Publishing it did not come to an end, however often it was begun again (last error: NETWORK_ERROR).',
    );
    expect(nextAction).toMatch(/^Submit the skill again/);
  });

  it('names poison and cancellation as reasons', () => {
    const poison = rejectionOf(ended('poison', { error: failed('scanTier1', { class: 'UNKNOWN' }) }));
    expect(poison.reasons[0]?.why).toMatch(/^Scanning it ended three workers/);
    expect(rejectionOf(ended('cancelled', { said: 'submitted by mistake' })).reasons[0]?.why).toBe(
      'submitted by mistake',
    );
    expect(rejectionOf(ended('cancelled')).reasons[0]?.why).toBe('No reason was given.');
  });

  it('knows every trigger by which the table rejects', () => {
    const failing = edgesOf(submission).filter(({ to }) => {
      const row = rowOf(submission, to);
      return isEnd(row) && row.ends === 'failed';
    });
    const triggers = new Set([...failing.map(({ trigger }) => trigger), 'poison']);
    expect(triggers.size).toBeGreaterThanOrEqual(9);
    for (const trigger of triggers) expect(rejectionOf(ended(trigger)).summary).not.toContain(`(${trigger})`);
    expect(rejectionOf(ended('new-trigger')).summary).toContain('(new-trigger)');
  });
});

describe('a rejection, whatever texts it repeats', () => {
  const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 3_000 }), fc.constant('\u202e\r\nBcc: a@b.c\u0007'));
  const anything = fc.record({
    trigger: fc.constantFrom('tier1-fail', 'tier2-fail', 'fetch-failed', 'review-reject', 'cancelled', 'other'),
    said: fc.option(text),
    error: fc.option(fc.record({ class: fc.constantFrom(...ERROR_CLASSES), message: text, stage: text })),
    findings: fc.array(
      fc.record({
        ...{ name: text, file: text, remedy: text, line: fc.option(fc.nat()) },
        ...{ severity: fc.constantFrom('critical', 'low'), category: fc.constantFrom('execution', 'structure') },
        match: text,
      }),
      { maxLength: 60 },
    ),
    judgement: fc.option(
      fc.record({
        score: fc.nat(59),
        limits: fc.array(fc.record({ because: text }), { maxLength: 3 }),
        concerns: fc.array(
          fc.record({
            ...{ criterion: fc.constantFrom(...CRITERIA), text },
            quote: fc.option(fc.record({ file: text, line: fc.nat() })),
          }),
          { maxLength: 5 },
        ),
      }),
    ),
    needed: fc.option(fc.nat(100)),
  });

  it('gives a reason and a remedy, bounded, on one line each, with nothing hidden', () => {
    fc.assert(
      fc.property(anything, (given) => {
        const { reasons, summary, nextAction } = rejectionOf(given);
        expect(reasons.length).toBeGreaterThan(0);
        expect(reasons.length).toBeLessThanOrEqual(50);
        for (const { why, remedy } of reasons) expect([why, remedy]).not.toContain('');
        const told = [summary, nextAction, ...reasons.flatMap(({ why, file, remedy }) => [why, file ?? '', remedy])];
        for (const each of told) {
          expect(each).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
          expect(each.length).toBeLessThan(12_000);
        }
      }),
      { numRuns: 200 },
    );
  });
});
