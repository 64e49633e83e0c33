import { execFile, type ChildProcess, fork } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { until } from '../../../../support/until.js';
import { startGitServer } from './git-server.js';
import { commitGreet, hugeBlob } from './repository.js';
import { openWorkshop, processesIn } from './workshop.js';

const run = promisify(execFile);

const workshop = await openWorkshop();

function fetchInChild(repository: string): ChildProcess {
  const child = fork(new URL('fetch-child.ts', import.meta.url), {
    execArgv: ['--import', 'tsx'],
    env: {
      ...process.env,
      TEST_REPO_URL: `${workshop.server.url}acme/${repository}.git`,
      TEST_SCRATCH: workshop.scratch,
    },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

describe("this machine's own git settings", () => {
  it('are not read: no hook and no helper of its owner is run', async () => {
    const home = join(workshop.scratch, '..', 'home');
    const mark = join(home, 'ran');
    const hook = join(home, 'hooks', 'reference-transaction');
    const settings = join(home, '.gitconfig');
    mkdirSync(join(home, 'hooks'), { recursive: true });
    writeFileSync(hook, `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 });
    writeFileSync(settings, `[core]\nhooksPath = ${home}/hooks\n[credential]\nhelper = "!touch ${mark}; false"\n`);
    for (const [name, value] of Object.entries({ HOME: home, GIT_CONFIG_GLOBAL: settings, GIT_ASKPASS: hook })) {
      vi.stubEnv(name, value);
    }
    onTestFinished(() => void vi.unstubAllEnvs());

    await workshop.fetch('good');
    workshop.server.answer((_, response) => response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end());
    await workshop.refused('good');

    expect(existsSync(mark)).toBe(false);
    await expect(isTrapSprung(mark, home)).resolves.toEqual({ byHook: true, byHelper: true });
  });
});

/** Whether a git that reads the settings falls into the trap. Only then does the test prove anything. */
async function isTrapSprung(mark: string, home: string): Promise<{ byHook: boolean; byHelper: boolean }> {
  const bare = join(home, 'bare');
  await run('git', ['init', '--quiet', '--bare', '--template=', bare]);
  const fetch = ['--git-dir', bare, 'fetch', '--quiet', `${workshop.server.url}acme/good.git`, 'main:x'];
  rmSync(mark, { force: true });
  await run('git', fetch).catch(() => undefined);
  const byHelper = existsSync(mark);
  rmSync(mark, { force: true });
  workshop.server.answer(undefined);
  await run('git', fetch);
  return { byHook: existsSync(mark), byHelper };
}

describe('a process that is killed while it fetches', () => {
  it('takes its git with it, and a later fetch removes its folder', async () => {
    workshop.server.answer(() => undefined);
    const child = fetchInChild('good');
    await until('git is at it', () => processesIn(workshop.scratch).length > 2);

    child.kill('SIGKILL');
    await until('git is gone too', () => processesIn(workshop.scratch).length === 0);

    const [left = ''] = readdirSync(workshop.scratch);
    workshop.server.answer(undefined);
    await workshop.fetch('good');
    expect(readdirSync(workshop.scratch)).toEqual([left]);
    const longAgo = Date.now() / 1_000 - 3_600;
    utimesSync(join(workshop.scratch, left), longAgo, longAgo);
    await workshop.fetch('good');
    expect(readdirSync(workshop.scratch)).toEqual([]);
  });
});

/** Two programs read every byte of the file. Only a hung run takes this long. */
const GIGABYTE_MS = 300_000;

describe('a file of a gigabyte', () => {
  it.each([
    ['is not even sent by a server that can leave it out', 'true'],
    ['passes through in pieces where it is sent', 'false'],
  ])(
    '%s',
    async (_, allowFilter) => {
      // The server compresses the file anew, as lightly as it can.
      const settings = [`allowFilter = ${allowFilter}`, '[pack]', 'compression = 1'];
      const repository = workshop.repository(`huge-${allowFilter}`, settings);
      commitGreet(repository, [{ mode: '100644', name: 'zeros', id: hugeBlob(repository.folder, 2 ** 30) }]);
      const child = fetchInChild(`huge-${allowFilter}`);
      let told: { outcome: string; grownBytes: number } | undefined;
      child.once('message', (message) => (told = message as typeof told));
      let mostByGit = 0;

      const { outcome, grownBytes } = await until(
        'it was refused',
        () => {
          mostByGit = Math.max(mostByGit, ...memoryOfGit());
          return told;
        },
        GIGABYTE_MS,
      );

      expect(outcome).toContain('may hold 500 KB and has a file that is larger: zeros');
      expect(grownBytes).toBeLessThan(100_000_000);
      expect(mostByGit).toBeGreaterThan(0);
      expect(mostByGit).toBeLessThan(100_000_000);
    },
    GIGABYTE_MS,
  );
});

/** The resident bytes of each git process of a fetch. */
function memoryOfGit(): number[] {
  return processesIn(workshop.scratch).map((pid) => {
    // The process may have ended since.
    const status = existsSync(`/proc/${pid}/status`) ? readFileSync(`/proc/${pid}/status`, 'utf8') : '';
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1_024;
  });
}

describe('the name of a host', () => {
  const PUBLIC = '140.82.112.3';

  it.each([
    ['a private address', ['10.0.0.1']],
    ['this machine', ['127.0.0.1']],
    ["a cloud's metadata", ['169.254.169.254']],
    ['a private address of IPv6', ['fd00::1']],
    ['a public address and a private one', [PUBLIC, '192.168.0.1']],
  ])('is refused if it is %s', async (_, addresses) => {
    const repoUrl = 'https://github.com/acme/skills';
    const failure = await workshop.refused('', { repoUrl }, { allowPrivate: false, resolve: async () => addresses });

    expect(failure).toMatchObject({ code: 'bad_input', field: 'repoUrl', isRetryable: false });
    expect(failure.message).toContain('not a public address');
  });

  it('is worth another try if it has no address today', async () => {
    const repoUrl = 'https://github.com/acme/skills';
    for (const resolve of [async () => [], () => Promise.reject(new Error('SERVFAIL'))]) {
      expect(await workshop.refused('', { repoUrl }, { resolve })).toMatchObject({
        code: 'source_unavailable',
        errorClass: 'NETWORK_ERROR',
        isRetryable: true,
      });
    }
  });

  it('is looked up once, and git connects to the address that was found', async () => {
    // The system resolves the name to 127.0.0.1, where nothing listens on this port.
    const elsewhere = await startGitServer(join(workshop.scratch, '..', 'served'), '127.0.0.2');
    onTestFinished(() => elsewhere.close());
    let asked = 0;
    async function resolve(): Promise<string[]> {
      asked += 1;
      return asked === 1 ? ['127.0.0.2'] : ['127.0.0.1'];
    }

    const repoUrl = `http://localhost:${elsewhere.port}/acme/good.git`;
    const skill = await workshop.fetch('', { repoUrl }, { hosts: ['localhost'], resolve });

    expect(skill.files).toHaveLength(1);
    expect(asked).toBe(1);
  });
});

describe('a machine', () => {
  it('without git says so', async () => {
    const failure = await workshop.refused('good', {}, { path: '/nonexistent' });

    expect(failure).toMatchObject({ code: 'source_unavailable', isRetryable: true });
    expect(failure.message).toContain('git 2.37 or newer is needed on this machine, and there is none');
  });

  it('with a git that is too old says so', async () => {
    const folder = join(workshop.scratch, '..', 'old');
    mkdirSync(folder);
    writeFileSync(join(folder, 'git'), '#!/bin/sh\necho git version 2.34.1\n', { mode: 0o755 });

    const failure = await workshop.refused('good', {}, { path: `${folder}:/bin` });

    expect(failure.message).toContain('there is git version 2.34.1; install it');
  });
});
