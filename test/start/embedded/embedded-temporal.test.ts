import { once } from 'node:events';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findTemporalCli } from '../../../scripts/find-temporal-cli.mjs';
import { isAlive } from '../../../scripts/pid-lock.mjs';
import {
  startTemporal,
  type RunningTemporal,
  type TemporalOptions,
} from '../../../src/start/embedded/embedded-temporal.js';
import { freePort } from '../../support/free-port.js';
import { startParent } from '../run-child.js';
import { tempDir } from '../temp-dir.js';

async function start(options: Partial<TemporalOptions> = {}): Promise<RunningTemporal & { lines: string[] }> {
  const lines: string[] = [];
  const defaults = { cliPath: findTemporalCli(), port: await freePort(), log: (line: string) => lines.push(line) };
  const server = await startTemporal({ ...defaults, ...options });
  onTestFinished(server.stop);
  return { ...server, lines };
}

async function connect(address: string): Promise<Connection> {
  const connection = await Connection.connect({ address });
  onTestFinished(() => connection.close());
  return connection;
}

/** Something that a client was told is done; it has to be there after a restart. */
async function startRun(address: string, workflowId: string): Promise<void> {
  const { workflowService } = await connect(address);
  await workflowService.startWorkflowExecution({
    namespace: 'default',
    workflowId,
    requestId: workflowId,
    workflowType: { name: 'unattended' },
    taskQueue: { name: 'nobody' },
  });
}

async function isRunning(address: string, workflowId: string): Promise<boolean> {
  const { workflowService } = await connect(address);
  const answer = await workflowService.describeWorkflowExecution({ namespace: 'default', execution: { workflowId } });
  return Number(answer.workflowExecutionInfo?.status) === 1;
}

describe('the embedded Temporal', () => {
  it('keeps its runs from one start to the next, also after a kill -9', async () => {
    const dbFile = join(tempDir(), 'temporal.db');
    const first = await start({ dbFile });
    await startRun(first.address, 'before the kill');
    process.kill(first.pid, 'SIGKILL');
    await first.exited;

    const second = await start({ dbFile });
    expect(await isRunning(second.address, 'before the kill')).toBe(true);
    await startRun(second.address, 'before the stop');
    await second.stop();

    const third = await start({ dbFile });
    expect(await isRunning(third.address, 'before the stop')).toBe(true);
  });

  it('has the namespace asked for and the search attribute by which runs are found', async () => {
    const { address } = await start({ namespace: 'elsewhere' });
    const { operatorService } = await connect(address);

    const { customAttributes } = await operatorService.listSearchAttributes({ namespace: 'elsewhere' });

    expect(customAttributes).toHaveProperty('Pipeline');
  });

  it('serves the Web UI on the port asked for', async () => {
    const uiPort = await freePort();
    await start({ uiPort });

    const page = await fetch(`http://127.0.0.1:${uiPort}/`);

    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toContain('text/html');
  });

  it('keeps its file to itself', async () => {
    const dbFile = join(tempDir(), 'temporal.db');
    await start({ dbFile });

    for (const file of [dbFile, `${dbFile}-wal`]) expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('stops the server that a killed parent left behind', async () => {
    const dbFile = join(tempDir(), 'temporal.db');
    const port = await freePort();
    const parent = await startParent('temporal', { cliPath: findTemporalCli(), dbFile, port });
    await parent.killHard();
    expect(isAlive(parent.serverPid)).toBe(true);

    const server = await start({ dbFile, port });

    expect(isAlive(parent.serverPid)).toBe(false);
    expect(server.lines[0]).toContain(`left behind (pid ${parent.serverPid})`);
  });

  it("does not touch another program's process that its pid file names by chance", async () => {
    const dbFile = join(tempDir(), 'temporal.db');
    writeFileSync(`${dbFile}.pid`, `${process.pid}\n`);

    await start({ dbFile });

    expect(isAlive(process.pid)).toBe(true);
  });

  it('says why it does not start on a busy port, and leaves nothing behind', async () => {
    const dbFile = join(tempDir(), 'temporal.db');
    const busy = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void busy.close());
    await once(busy, 'listening');
    const { port } = busy.address() as { port: number };

    await expect(start({ dbFile, port })).rejects.toThrow(/^cannot start: Temporal stopped while starting .*in use/);
    expect(existsSync(`${dbFile}.pid`)).toBe(false);
  });

  it('names the variable to set when the CLI can not be run', async () => {
    await expect(start({ cliPath: '/no/such/temporal' })).rejects.toThrow(/\/no\/such\/temporal .*TEMPORAL_CLI_PATH/);
  });
});
