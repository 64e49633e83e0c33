import { expect, it } from 'vitest';
import { bytesOfVector, readVector } from '../../../../../src/domains/file/core/search/vector-bytes.js';

it('keeps a vector with the lowest byte first, and reads it back from any place', () => {
  const bytes = bytesOfVector(Float32Array.of(1, -0.5));
  const shifted = Uint8Array.from([9, ...bytes]).subarray(1);
  const read = new Float32Array(2);
  readVector(shifted, read);

  expect([...bytes]).toEqual([0, 0, 128, 63, 0, 0, 0, 191]);
  expect([...read]).toEqual([1, -0.5]);
});
