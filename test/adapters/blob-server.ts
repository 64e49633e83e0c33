import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { freePort } from '../support/free-port.js';
import { until } from '../support/until.js';

/** A server of blobs in a process of its own. It listens on this machine alone and keeps all in a temporary folder. */
export interface BlobServer {
  url: string;
  stop(): Promise<void>;
}

interface Program {
  command: string;
  args: string[];
  env?: Record<string, string>;
}

async function start(programIn: (folder: string, port: number) => Program): Promise<BlobServer> {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-blobs-'));
  const port = await freePort();
  const { command, args, env } = programIn(folder, port);
  const child = spawn(command, args, { cwd: folder, env: { ...process.env, ...env }, stdio: 'ignore' });
  const endWithUs = (): void => void child.kill('SIGKILL');
  process.once('exit', endWithUs);
  const url = `http://127.0.0.1:${port}`;
  await until(`${command} answers`, () => answers(url, child));
  async function stop(): Promise<void> {
    process.off('exit', endWithUs);
    if (child.exitCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    rmSync(folder, { recursive: true, force: true });
  }
  return { url, stop };
}

async function answers(url: string, child: ChildProcess): Promise<boolean> {
  if (child.exitCode !== null) throw new Error(`the server of blobs ended with code ${String(child.exitCode)}`);
  return fetch(url).then(
    () => true,
    () => false,
  );
}

const AZURITE_ACCOUNT = 'devstoreaccount1';
/** The key that Azurite documents for everybody. */
const AZURITE_KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

export function startAzurite(): Promise<BlobServer> {
  const azurite = dirname(createRequire(import.meta.url).resolve('azurite/package.json'));
  return start((folder, port) => ({
    command: process.execPath,
    args: [
      ...[join(azurite, 'dist/src/blob/main.js'), '--blobHost', '127.0.0.1', '--blobPort', String(port)],
      ...['--location', folder, '--silent', '--disableTelemetry', '--skipApiVersionCheck'],
    ],
  }));
}

export function azuriteConnection(url: string): string {
  const account = `AccountName=${AZURITE_ACCOUNT};AccountKey=${AZURITE_KEY}`;
  return `DefaultEndpointsProtocol=http;${account};BlobEndpoint=${url}/${AZURITE_ACCOUNT};`;
}

export const S3_KEYS = { accessKeyId: 'the-test', secretAccessKey: 'not-a-secret' };

export function startVersitygw(path: string): Promise<BlobServer> {
  return start((folder, port) => {
    const [blobs, sidecar] = [join(folder, 'blobs'), join(folder, 'sidecar')];
    for (const each of [blobs, sidecar]) mkdirSync(each);
    // The sidecar, because temporary folders may have no extended attributes.
    const args = ['--port', `127.0.0.1:${port}`, '--quiet', 'posix', '--sidecar', sidecar, blobs];
    const env = { ROOT_ACCESS_KEY: S3_KEYS.accessKeyId, ROOT_SECRET_KEY: S3_KEYS.secretAccessKey };
    return { command: path, args, env };
  });
}
