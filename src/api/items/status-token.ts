import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** Makes and reads the tokens of one purpose. Both are pure. */
export interface StatusTokens {
  tokenOf(itemId: string): string;
  /** The item that the token is of; null: we did not make it. */
  itemIn(token: string): string | null;
}

const ID_BYTES = 16;
const MAC_BYTES = 32;
const BYTES = ID_BYTES + MAC_BYTES;

/** 48 bytes are 64 signs with no bit to spare: no two texts are the same token. */
const TOKEN = /^[\w-]{64}$/;

/** A key for this purpose alone, so that what it signs is of no use anywhere else that the secret is used. */
export function createStatusTokens(secret: string): StatusTokens {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'unstuck: read the status of one submission, v1', 32));

  function macOf(id: Buffer): Buffer {
    return createHmac('sha256', key).update(id).digest();
  }

  return {
    tokenOf(itemId) {
      const id = Buffer.from(itemId.replaceAll('-', ''), 'hex');
      if (id.length !== ID_BYTES) throw new RangeError('the id of an item is a UUID');
      return Buffer.concat([id, macOf(id)]).toString('base64url');
    },
    // Whatever it is given, it does the same work, so that the time it takes says nothing.
    itemIn(token) {
      const isToken = TOKEN.test(token);
      const given = Buffer.alloc(BYTES);
      given.write(isToken ? token : '', 'base64url');
      const id = given.subarray(0, ID_BYTES);
      const isOurs = timingSafeEqual(macOf(id), given.subarray(ID_BYTES));
      return isOurs && isToken ? uuidOf(id) : null;
    },
  };
}

function uuidOf(id: Buffer): string {
  return id.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
