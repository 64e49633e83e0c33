import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { extractorCheck } from '../../../../src/domains/file/start/extractor-check.js';
import type { Patient } from '../../../../src/start/doctor/check.js';

function patientWith(settings: object): Patient {
  const extractor = { timeoutMs: 60_000, maxBytes: 1_024 ** 3, temporaryFolder: tmpdir(), ...settings };
  return { config: { domains: { file: { extractor } } } } as unknown as Patient;
}

it('reads a PDF and a picture', async () => {
  expect(await extractorCheck.run(patientWith({}))).toEqual({
    level: 'ok',
    says: 'Workers on this machine read files: pdf and png were read.',
  });
});

it('is a problem where the files cannot be kept while they are read', async () => {
  const finding = await extractorCheck.run(patientWith({ temporaryFolder: '/dev/null/folder' }));
  expect(finding).toMatchObject({ level: 'problem', says: expect.stringContaining('could not be read') as string });
});
