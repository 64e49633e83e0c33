import { jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { ensureJwtSecret } from '../../src/start/parts/secrets.js';
import { runChild } from './run-child.js';
import { tempDir } from './temp-dir.js';

async function token(dataDir: string, ...args: string[]) {
  const child = runChild('src/start/token.ts', args, { env: { DATA_DIR: dataDir } });
  const code = await child.exited;
  return { code, output: child.output().trim() };
}

describe('npm run token', () => {
  it('signs for a user, a role and a time, with the secret of the installation', async () => {
    const dataDir = tempDir();
    const secret = ensureJwtSecret(dataDir);

    const { code, output } = await token(
      dataDir,
      'ada',
      '--role',
      'reviewer',
      '--for',
      '30m',
      '--email',
      'ada@example.org',
    );

    expect(code, output).toBe(0);
    const { payload } = await jwtVerify(output, new TextEncoder().encode(secret), { algorithms: ['HS256'] });
    expect(payload).toMatchObject({ sub: 'ada', roles: ['reviewer'], email: 'ada@example.org' });
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(1_800);
  });

  it.each(['--help', '-h'])('tells how it is used with %s', async (help) => {
    const { code, output } = await token(tempDir(), help);

    expect(code, output).toBe(0);
    expect(output).toBe(
      'npm run --silent token -- <user> [--role user|reviewer|admin|viewer] [--email address] [--for 8h]',
    );
  });

  it.each([
    [[], 'name one user'],
    [['system'], 'system is a name of this service; use another name'],
    [['ada', '--role', 'king'], 'there is no role king; there are user, reviewer, admin, viewer'],
    [['ada', '--email', 'a@b.c, d@e.f'], 'is not one plain mail address'],
    [['ada'], 'there is no secret in'],
  ])('refuses %j with a sentence', async (args, sentence) => {
    const { code, output } = await token(tempDir(), ...args);

    expect(code).toBe(1);
    expect(output).toContain(sentence);
  });
});
