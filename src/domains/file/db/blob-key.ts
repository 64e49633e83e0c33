import { createHash } from 'node:crypto';

/** The owner's part of a key. Owners are hashed, because their names may contain signs that a store does not take. */
export function blobPrefixOf(owner: string): string {
  return `uploads/${createHash('sha256').update(owner).digest('hex').slice(0, 32)}/`;
}
