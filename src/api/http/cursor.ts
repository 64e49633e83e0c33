import { createHash } from 'node:crypto';
import { AppError } from '../../core/errors.js';

/** The cursor says where a page of a list ended. It belongs to the filters that it was made for: with other filters it
 *  would leave items out unnoticed. It grants no right, because the caller's rights are checked again for every
 *  page. */
export function cursorOf(position: string, filters: object): string {
  return Buffer.from(`${position} ${fingerprintOf(filters)}`).toString('base64url');
}

/** The position in a cursor. Null: there is no cursor. `isPosition` tells a position that the list itself makes from
 *  any other text. */
export function positionIn(
  cursor: string | undefined,
  filters: object,
  isPosition: (text: string) => boolean,
): string | null {
  if (cursor === undefined) return null;
  const [position = '', fingerprint] = Buffer.from(cursor, 'base64url').toString().split(' ');
  if (fingerprint === fingerprintOf(filters) && isPosition(position)) return position;
  const message = 'is not a cursor of this list with these filters; begin again without one';
  throw new AppError('invalid_input', `cursor: ${message}`, { errors: [{ path: 'cursor', message }] });
}

function fingerprintOf(filters: object): string {
  const given = Object.entries(filters)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(given)).digest('base64url').slice(0, 12);
}
