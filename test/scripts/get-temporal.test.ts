import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cachedTemporalCli, locateTemporalCli } from '../../scripts/find-temporal-cli.mjs';
import { temporalStep } from '../../scripts/get-temporal.mjs';
import { freePort } from '../support/free-port.js';
import { cloneOf, root } from './clone.js';

/** No Temporal anywhere, an empty cache, and no way to the download. */
async function setup() {
  const clone = cloneOf({});
  const bin = join(clone.root, 'bin');
  mkdirSync(bin);
  const nowhere = `http://127.0.0.1:${await freePort()}`;
  const env: Record<string, string | undefined> = {
    PATH: bin,
    HOME: clone.root,
    XDG_CACHE_HOME: join(clone.root, 'cache'),
  };
  Object.assign(env, { HTTPS_PROXY: nowhere, https_proxy: nowhere });

  function executable(path: string, code = '#!/bin/sh\n'): string {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, code);
    chmodSync(path, 0o755);
    return path;
  }
  return { clone: { ...clone, env }, bin, env, executable };
}

describe('the Temporal CLI is looked for', () => {
  it('at TEMPORAL_CLI_PATH, then on the PATH, then in the cache', async () => {
    const { bin, env, executable } = await setup();
    expect(locateTemporalCli(env)).toBeUndefined();

    const cached = executable(cachedTemporalCli(env));
    expect(locateTemporalCli(env)).toBe(cached);

    const onPath = executable(join(bin, 'temporal'));
    expect(locateTemporalCli(env)).toBe(onPath);

    const named = executable(join(bin, 'another'));
    expect(locateTemporalCli({ ...env, TEMPORAL_CLI_PATH: named })).toBe(named);
  });

  it('reports a wrong TEMPORAL_CLI_PATH and does not pass it over', async () => {
    const { clone, env } = await setup();
    const wrong = { ...clone, env: { ...env, TEMPORAL_CLI_PATH: '/no/such/temporal' } };

    expect(() => temporalStep.isNeeded(wrong)).toThrow(/TEMPORAL_CLI_PATH names \/no\/such\/temporal/);
  });

  it('not at all when TEMPORAL_ADDRESS names a server', async () => {
    const { clone, env } = await setup();

    expect(temporalStep.isNeeded(clone)).toBe(true);
    expect(temporalStep.isNeeded({ ...clone, env: { ...env, TEMPORAL_ADDRESS: 'temporal:7233' } })).toBe(false);
  });
});

describe('a missing Temporal CLI', () => {
  it('is built with Go where the download fails, into the cache', async () => {
    const { clone, bin, env, executable } = await setup();
    // Stands for the compiler, which takes minutes: notes how it was called and leaves an executable where Go would.
    executable(
      join(bin, 'go'),
      `#!/bin/sh\necho "$CGO_ENABLED $*" > ${clone.root}/called\necho '#!/bin/sh' > "$GOBIN/temporal"\n`,
    );

    await temporalStep.run(clone);

    expect(readFileSync(join(clone.root, 'called'), 'utf8')).toBe(
      '0 install -trimpath -ldflags -s -w github.com/temporalio/cli/cmd/temporal@v1.5.1\n',
    );
    expect(locateTemporalCli(env)).toBe(cachedTemporalCli(env));
    expect(readdirSync(dirname(cachedTemporalCli(env)))).toEqual(['temporal']);
  });

  it('is not built on when set-up is told to stop', async () => {
    const { clone, bin, env, executable } = await setup();
    // Stands for a compiler at work; it ends set-up's process itself, as Ctrl-C in a terminal would.
    executable(join(bin, 'go'), '#!/bin/sh\nkill -TERM $PPID\nexec /bin/sleep 60\n');
    const code = `const { temporalStep } = await import(${JSON.stringify(join(root, 'scripts/get-temporal.mjs'))});
      const context = { root: ${JSON.stringify(clone.root)}, env: process.env, say: () => undefined };
      await temporalStep.run(context).catch((error) => console.log(error.message));`;

    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', code], { env, encoding: 'utf8' });

    expect(stdout).toBe('stopped by SIGTERM.\n');
    expect(readdirSync(dirname(cachedTemporalCli(env)))).toEqual([]);
  });

  it('is explained in one sentence where there is no Go either', async () => {
    const { clone, env } = await setup();

    await expect(temporalStep.run(clone)).rejects.toThrow(
      /^the Temporal dev server is missing: its download failed \(.+\); Go is not installed\. Install the Temporal CLI .+ or Go /,
    );
    expect(existsSync(cachedTemporalCli(env))).toBe(false);
  });
});
