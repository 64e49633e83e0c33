import { AppError } from './errors.js';

/** A use, an owner and an id, such as `scans/0f…/0190…`. Three parts, so that no key is the folder of another key. The first two have
 *  no hyphen, because a hyphen sorts before the slash: the order of keys is then the order of the names in each part. */
const KEY = /^[a-z0-9]{1,32}\/[a-z0-9]{1,64}\/[a-z0-9][a-z0-9-]{0,63}$/;

/** The beginning of a key. */
const PREFIX = /^(?:[a-z0-9]{0,32}|[a-z0-9]{1,32}\/[a-z0-9]{0,64}|[a-z0-9]{1,32}\/[a-z0-9]{1,64}\/[a-z0-9-]{0,64})$/;

/** Refuses every key that a store could take for something else, such as a path that leaves its folder. */
export function assertBlobKey(key: string): void {
  if (!KEY.test(key)) throw new AppError('invalid_input', `${JSON.stringify(key)} is not the key of a blob`);
}

export function isBlobKey(key: string): boolean {
  return KEY.test(key);
}

export function assertBlobPrefix(prefix: string): void {
  if (!PREFIX.test(prefix))
    throw new AppError('invalid_input', `no key of a blob begins with ${JSON.stringify(prefix)}`);
}
