import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { translateErrors } from '../../src/adapters/blob-failure.js';
import { AppError } from '../../src/core/errors.js';

it('a store that fails before anybody reads leaves a destroyed stream, and no error without a listener', async () => {
  const source = new PassThrough();
  const translate = () => new AppError('blob_store_unavailable', 'the store is away');
  const passed = translateErrors(source, { translate });
  source.destroy(new Error('connection reset'));
  await new Promise((resolve) => passed.once('close', resolve));

  expect(passed.errored).toMatchObject({ code: 'blob_store_unavailable' });
  expect(passed.listenerCount('error')).toBe(1);
});
