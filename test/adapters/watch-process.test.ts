import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import { isAlive } from '../../scripts/pid-lock.mjs';
import { projectRoot } from '../../src/config.js';
import { signalIfThere } from '../../src/start/embedded/os-process.js';
import { until } from '../support/until.js';

/** Never gives its event loop back once the watch has begun, as a native engine does. */
const BUSY = `
void import('./src/adapters/watch-process.ts').then(({ watchProcess }) => {
  watchProcess(Infinity);
  setTimeout(() => {
    process.stdout.write('busy\\n');
    for (;;);
  }, 500);
});
`;

it('a process that is busy ends when its parent is gone', async () => {
  const node = ['--import', 'tsx', '-e', BUSY];
  const parent = spawn('sh', ['-c', '"$@" & echo $!; wait', 'sh', process.execPath, ...node], {
    cwd: projectRoot,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said = createInterface({ input: parent.stdout })[Symbol.asyncIterator]();
  const pid = Number((await said.next()).value);
  onTestFinished(() => signalIfThere(pid, 'SIGKILL'));
  expect(await said.next()).toMatchObject({ value: 'busy' });

  parent.kill('SIGKILL');

  await until('the process is gone', () => !isAlive(pid), 10_000);
});
