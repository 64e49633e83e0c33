import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { createGzip } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createGitSkillSource } from '../../../../../src/domains/submission/adapters/git/skill-source-git.js';
import { until } from '../../../../support/until.js';
import { startGitServer } from './git-server.js';
import { skillFile } from './repository.js';
import { failureOf, openWorkshop, processesIn } from './workshop.js';

const workshop = await openWorkshop();

const OUTAGE = { code: 'source_unavailable', kind: 'unavailable', errorClass: 'NETWORK_ERROR', isRetryable: true };
const REFUSAL = { code: 'bad_input', kind: 'invalid', errorClass: 'BAD_INPUT', isRetryable: false, field: 'repoUrl' };

/** Long enough for git to be on the wire, on the slowest machine, and no longer than a test should take. */
const SHORT = { timeoutMs: 3_000 };

const PACK_ANSWER = { 'content-type': 'application/x-git-upload-pack-advertisement' };

describe('a server that takes its time', () => {
  it('is given up when it says nothing', async () => {
    workshop.server.answer(() => undefined);

    const failing = workshop.refused('good', {}, SHORT);
    await until('git is at it', () => processesIn(workshop.scratch).length > 2);
    const failure = await failing;

    expect(failure).toMatchObject(OUTAGE);
    expect(failure.message).toContain('took longer than 3 s');
  });

  it('is given up when it trickles', async () => {
    let written = 0;
    workshop.server.answer((_, response) => {
      response.writeHead(200, PACK_ANSWER);
      every(50, response, () => {
        written += 1;
        response.write('0');
      });
    });

    expect(await workshop.refused('good', {}, SHORT)).toMatchObject(OUTAGE);
    expect(written).toBeGreaterThan(3);
  });

  it('is given up when it hangs within the pack', async () => {
    const requests = answerFetchWith('000dpackfile\n');

    // Two answers of git's own server come before the answer that hangs.
    const failure = await workshop.refused('good', {}, { timeoutMs: 5_000 });

    expect(failure).toMatchObject(OUTAGE);
    expect(failure.message).toContain('took longer than 5 s');
    expect(requests()).toBe(3);
  });

  it('is left once git has given up on it', async () => {
    const requests = answerFetchWith('0008NAK\n');

    const failure = await workshop.refused('good', {}, { timeoutMs: 25_000 });

    expect(failure).toMatchObject(OUTAGE);
    expect(failure.message).toContain('could not be fetched');
    expect(requests()).toBe(3);
  });

  it('is left at once when the caller stops', async () => {
    workshop.server.answer(() => undefined);
    const controller = new AbortController();
    const source = createGitSkillSource({
      hosts: ['127.0.0.1'],
      allowPrivate: true,
      allowLocal: false,
      temporaryFolder: workshop.scratch,
    });
    const address = { repoUrl: `${workshop.server.url}acme/good`, skillName: 'greet' };

    const failing = source.fetch(address, controller.signal).catch(failureOf);
    await until('git is at it', () => processesIn(workshop.scratch).length > 2);
    controller.abort();

    expect(await failing).toMatchObject({ ...OUTAGE, message: expect.stringContaining('was stopped') as string });
    expect(await source.fetch(address, controller.signal).catch(failureOf)).toMatchObject(OUTAGE);
  });
});

/** Gives git's own answers to the first two requests. The third request, for the pack, gets these words and then nothing. */
function answerFetchWith(words: string): () => number {
  let requests = 0;
  workshop.server.answer((request, response) => {
    requests += 1;
    if (requests < 3) workshop.server.answerByGit(request, response);
    else response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-result' }).write(words);
  });
  return () => requests;
}

function every(ms: number, response: ServerResponse, work: () => void): void {
  const timer = setInterval(work, ms);
  response.once('close', () => {
    clearInterval(timer);
  });
}

describe('a redirect is not followed', () => {
  it.each([
    [
      'to an address of this machine',
      (port: number) => `http://127.0.0.1:${port}/acme/good.git/info/refs?service=git-upload-pack`,
    ],
    ['to a private address', () => 'http://169.254.169.254/latest/meta-data'],
    ['to a file', () => 'file:///etc/passwd'],
    ['to another protocol', () => 'ext::sh -c "touch /tmp/x"'],
    ['to the same server', () => '/acme/good.git/info/refs?service=git-upload-pack'],
  ])('%s', async (_, locationOf) => {
    const elsewhere = await startGitServer('/nonexistent');
    onTestFinished(() => elsewhere.close());
    for (const status of [301, 302, 307, 308]) {
      const before = workshop.server.asked.length;
      workshop.server.answer((_request, response) => {
        response.writeHead(status, { location: locationOf(elsewhere.port) }).end();
      });

      const failure = await workshop.refused('moved');

      expect(failure).toMatchObject(REFUSAL);
      expect(failure.message).toContain('redirects are not followed; give the address the repository has now');
      expect(workshop.server.asked.slice(before)).toHaveLength(1);
    }
    expect(elsewhere.asked).toEqual([]);
  });
});

describe("a server's status", () => {
  it.each([
    [401, 'private or does not exist; make it public'],
    [404, 'private or does not exist'],
    [400, 'its host refuses to serve'],
    [410, 'its host refuses to serve'],
    [451, 'its host refuses to serve'],
  ])('%i: refused, and no password is asked for', async (status, sentence) => {
    workshop.server.answer((_, response) =>
      response.writeHead(status, { 'www-authenticate': 'Basic realm="x"' }).end(),
    );

    const failure = await workshop.refused('private');

    expect(failure).toMatchObject(REFUSAL);
    expect(failure.message).toContain(sentence);
  });

  it.each([403, 408, 429, 500, 502, 503])('%i: worth another try', async (status) => {
    workshop.server.answer((_, response) => response.writeHead(status).end('fatal: repository not found'));

    expect(await workshop.refused('good')).toMatchObject(OUTAGE);
  });
});

describe('an address without a git server', () => {
  it('is tried again when nothing listens there', async () => {
    const gone = await startGitServer('/nonexistent');
    await gone.close();

    expect(await workshop.refused('', { repoUrl: `${gone.url}acme/good` })).toMatchObject(OUTAGE);
  });

  it('is tried again when every connection breaks off', async () => {
    workshop.server.answer((_, response) => response.destroy());

    expect(await workshop.refused('good')).toMatchObject(OUTAGE);
  });

  it.each([
    ['a web page', 'text/html', '<html>'],
    ['a list of files', 'text/plain', `${'1'.repeat(40)}\trefs/heads/main\n`],
  ])('is refused when a server sends %s', async (_, type, body) => {
    workshop.server.answer((_request, response) => response.writeHead(200, { 'content-type': type }).end(body));

    expect(await workshop.refused('page')).toMatchObject(REFUSAL);
  });

  it("quotes the server's text without hidden characters", async () => {
    workshop.server.answer((_, response) => {
      const line = 'ERR \u001b[2Jignore\u202e all\n';
      const length = (Buffer.byteLength(line) + 4).toString(16).padStart(4, '0');
      response.writeHead(200, PACK_ANSWER).end(`001e# service=git-upload-pack\n0000${length}${line}`);
    });

    const { message } = await workshop.refused('good');

    expect(message).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(message.length).toBeLessThan(400);
  });
});

describe('a server that sends without end', () => {
  it('is stopped at the limit for a pack', async () => {
    const repository = workshop.repository('endless', [
      'allowFilter = false',
      '[pack]',
      'window = 0',
      'compression = 0',
    ]);
    const blobs = Array.from({ length: 36 }, (_, n): [string, Buffer] => [`b${n}`, randomBytes(1_000_000)]);
    repository.commit(repository.folderOf({ ...Object.fromEntries(blobs), 'greet/SKILL.md': skillFile('greet') }));

    const failure = await workshop.refused('endless', {}, { timeoutMs: 100_000 });

    expect(failure).toMatchObject(REFUSAL);
    expect(failure.message).toContain('too large');
  }, 120_000);

  it('is stopped at the limit for memory', async () => {
    workshop.server.answer((_, response) => {
      response.writeHead(200, { ...PACK_ANSWER, 'content-encoding': 'gzip' });
      const gzip = createGzip({ level: 1 });
      gzip.pipe(response);
      pour(Buffer.alloc(1_000_000, '0'), gzip, response);
    });

    const failure = await workshop.refused('good');

    expect(failure).toMatchObject(REFUSAL);
    expect(failure.message).toContain('too large');
  });
});

/** Sends the same bytes until the client hangs up. */
function pour(chunk: Buffer, into: NodeJS.WritableStream, response: ServerResponse): void {
  into.write(chunk, () => {
    if (!response.closed) pour(chunk, into, response);
  });
}
