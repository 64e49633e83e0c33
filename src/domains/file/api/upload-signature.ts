import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** Signs and checks the addresses under which the bytes of one file may be sent until a time. Both are pure. */
export interface UploadSignatures {
  /** The address behind the server's own, with the signature in its query. */
  pathOf(fileId: string, expiresAt: Date): string;
  /** When the permission ends. Null: we did not sign it for this file. */
  expiryIn(fileId: string, given: { expires: string; signature: string }): Date | null;
}

const PURPOSE = 'unstuck: upload the bytes of one file, v1';

/** Derives a key for this purpose alone, so that a signature is of no use where the secret serves another purpose. */
export function createUploadSignatures(secret: string): UploadSignatures {
  const key = Buffer.from(hkdfSync('sha256', secret, '', PURPOSE, 32));

  function macOf(fileId: string, expires: string): Buffer {
    return createHmac('sha256', key).update(`${fileId.toLowerCase()} ${expires}`).digest();
  }

  return {
    pathOf(fileId, expiresAt) {
      const expires = String(expiresAt.getTime());
      const signature = macOf(fileId, expires).toString('base64url');
      return `/api/v2/uploads/bytes/${fileId}?expires=${expires}&signature=${signature}`;
    },
    expiryIn(fileId, { expires, signature }) {
      const mac = macOf(fileId, expires);
      const given = Buffer.alloc(mac.length);
      given.write(signature, 'base64url');
      // Both comparisons are made for every signature, so that the time they take gives nothing away.
      const isOurs = timingSafeEqual(mac, given);
      const isWhole = mac.toString('base64url').length === signature.length;
      return isOurs && isWhole && /^\d{1,15}$/.test(expires) ? new Date(Number(expires)) : null;
    },
  };
}
