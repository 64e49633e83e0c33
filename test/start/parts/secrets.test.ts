import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { ensureAdminToken, ensureJwtSecret } from '../../../src/start/parts/secrets.js';
import { tempDir } from '../temp-dir.js';

describe('the secret of an embedded installation', () => {
  it('is made once, long enough, and readable by its user alone', () => {
    const dataDir = tempDir();
    const secret = ensureJwtSecret(dataDir);

    expect(secret.length).toBeGreaterThanOrEqual(32);
    expect(ensureJwtSecret(dataDir)).toBe(secret);
    expect(statSync(join(dataDir, 'jwt-secret')).mode & 0o777).toBe(0o600);
    expect(ensureJwtSecret(tempDir())).not.toBe(secret);
  });
});

describe("the admin's token", () => {
  it('is signed with the secret, names the admin and is kept for scripts', async () => {
    const dataDir = tempDir();
    const secret = ensureJwtSecret(dataDir);

    const { token, file, isNew } = await ensureAdminToken(dataDir, { secret });

    const { payload } = await jwtVerify(token, new TextEncoder().encode(secret), { algorithms: ['HS256'] });
    expect(payload).toMatchObject({ sub: 'admin', roles: ['admin'] });
    expect(isNew).toBe(true);
    expect(readFileSync(file, 'utf8').trim()).toBe(token);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('stays the same as long as it fits', async () => {
    const dataDir = tempDir();
    const from = { secret: ensureJwtSecret(dataDir), issuer: 'us', audience: 'api' };
    const first = await ensureAdminToken(dataDir, from);

    expect(await ensureAdminToken(dataDir, from)).toEqual({ ...first, isNew: false });
  });

  it.each([{ secret: 'another secret of thirty-two characters' }, { issuer: 'them' }, { audience: 'else' }])(
    'is made again for %o',
    async (changed) => {
      const dataDir = tempDir();
      const from = { secret: ensureJwtSecret(dataDir) };
      const first = await ensureAdminToken(dataDir, from);

      const second = await ensureAdminToken(dataDir, { ...from, ...changed });

      expect(second.isNew).toBe(true);
      expect(second.token).not.toBe(first.token);
    },
  );
});
