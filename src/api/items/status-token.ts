import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** Makes and reads the tokens of one purpose. Both are pure. */
export interface StatusTokens {
  tokenOf(itemId: string): string;
  /** The item of the token. Null: we did not make the token. */
  itemIn(token: string): string | null;
}

const ID_BYTES = 16;
const MAC_BYTES = 32;
const BYTES = ID_BYTES + MAC_BYTES;

/** 48 bytes are 64 signs with no bit to spare: no two texts are the same token. */
const TOKEN = /^[\w-]{64}$/;

/** Derives a key for this purpose alone, so that a token is of no use where the secret serves another purpose. */
export function createStatusTokens(secret: string, purpose: string): StatusTokens {
  const key = Buffer.from(hkdfSync('sha256', secret, '', purpose, 32));

  function macOf(id: Buffer): Buffer {
    return createHmac('sha256', key).update(id).digest();
  }

  return {
    tokenOf(itemId) {
      const id = Buffer.from(itemId.replaceAll('-', ''), 'hex');
      if (id.length !== ID_BYTES) throw new RangeError('the id of an item is a UUID');
      return Buffer.concat([id, macOf(id)]).toString('base64url');
    },
    // Does the same work for every token, so that the time it takes gives nothing away.
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
