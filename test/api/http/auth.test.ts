import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createIdentify, type AuthSettings } from '../../../src/api/http/auth.js';
import { freePort } from '../../support/free-port.js';
import { SECRET } from '../setup.js';

const secret = new TextEncoder().encode(SECRET);

/** Signs whatever is asked for, good or bad. */
function sign(
  claims: Record<string, unknown>,
  alg = 'HS256',
  key: Parameters<SignJWT['sign']>[0] = secret,
): Promise<string> {
  const inAnHour = Math.floor(Date.now() / 1_000) + 3_600;
  return new SignJWT({ sub: 'alice', exp: inAnHour, ...claims }).setProtectedHeader({ alg, kid: 'k1' }).sign(key);
}

async function identify(token: string | Promise<string>, settings: AuthSettings = { secret: SECRET }) {
  return createIdentify(settings)(`Bearer ${await token}`);
}

describe('a caller', () => {
  it('is who the token says, with the roles we know', async () => {
    const token = sign({ roles: ['admin', 'astronaut', 7], email: 'alice@example.org' });
    expect(await identify(token)).toEqual({ sub: 'alice', roles: ['admin'], email: 'alice@example.org' });
  });

  it.each([false, 'false'])('has no mail address that the issuer has not verified (%j)', async (verified) => {
    const token = sign({ email: 'alice@example.org', email_verified: verified });
    expect(await identify(token)).toEqual({ sub: 'alice', roles: ['user'] });
  });

  it.each([[undefined], [[]], [['astronaut']], ['admin'], [{ admin: true }]])(
    'without a role we know (%j) is a user',
    async (roles) => {
      expect(await identify(sign({ roles }))).toEqual({ sub: 'alice', roles: ['user'] });
    },
  );

  it.each([
    ['no subject', { sub: undefined }],
    ['an empty subject', { sub: '' }],
    ['a subject with a NUL byte', { sub: 'al\u0000ice' }],
    ['a subject without end', { sub: 'a'.repeat(201) }],
    ['the name of the service itself', { sub: 'system' }],
    ['the name of a worker', { sub: 'worker' }],
    ['a name that only the service gives', { sub: 'unstuck:discovery' }],
    ['no expiry', { exp: undefined }],
    ['a start in the future', { nbf: Math.floor(Date.now() / 1_000) + 600 }],
  ])('with %s is nobody', async (_, claims) => {
    await expect(identify(sign(claims))).rejects.toMatchObject({ code: 'not_signed_in' });
  });

  it.each(['HS384', 'HS512'])('whose token is signed with the right secret by %s is nobody', async (alg) => {
    await expect(identify(sign({}, alg))).rejects.toMatchObject({ code: 'not_signed_in' });
  });

  it('must come from the issuer and for the audience that are configured', async () => {
    const settings = { secret: SECRET, issuer: 'https://issuer.example', audience: 'unstuck' };
    const right = { iss: 'https://issuer.example', aud: ['unstuck', 'other'] };
    expect(await identify(sign(right), settings)).toMatchObject({ sub: 'alice' });
    for (const wrong of [{}, { ...right, iss: 'https://elsewhere.example' }, { ...right, aud: 'other' }]) {
      await expect(identify(sign(wrong), settings)).rejects.toMatchObject({ code: 'not_signed_in' });
    }
  });
});

describe('a caller whose issuer publishes its keys', () => {
  let server: Server;
  let settings: AuthSettings;
  let keys: Awaited<ReturnType<typeof generateKeyPair>>;
  beforeAll(async () => {
    keys = await generateKeyPair('RS256', { extractable: true });
    const published = { keys: [{ ...(await exportJWK(keys.publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' }] };
    server = createServer((request, response) => {
      response.statusCode = request.url === '/jwks' ? 200 : 500;
      response.setHeader('content-type', 'application/json').end(JSON.stringify(published));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    settings = { jwksUrl: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/jwks` };
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  it('is known by a token signed with one of them', async () => {
    expect(await identify(sign({ roles: ['viewer'] }, 'RS256', keys.privateKey), settings)).toEqual({
      sub: 'alice',
      roles: ['viewer'],
    });
  });

  it('is nobody with a token signed by another key, or with the public key as a secret', async () => {
    const other = await generateKeyPair('RS256');
    const publicAsSecret = new TextEncoder().encode(await exportSPKI(keys.publicKey));
    for (const token of [sign({}, 'RS256', other.privateKey), sign({}, 'HS256', publicAsSecret)]) {
      await expect(identify(token, settings)).rejects.toMatchObject({ code: 'not_signed_in' });
    }
  });

  it('cannot be told while the keys cannot be fetched: that is our fault, not the token’s', async () => {
    const token = await sign({}, 'RS256', keys.privateKey);
    const wrongPath = { jwksUrl: (settings as { jwksUrl: string }).jwksUrl.replace('/jwks', '/broken') };
    const nobodyThere = { jwksUrl: `http://127.0.0.1:${String(await freePort())}/jwks` };
    for (const away of [wrongPath, nobodyThere]) {
      await expect(identify(token, away)).rejects.toMatchObject({ code: 'keys_unavailable', kind: 'unavailable' });
    }
  });
});
