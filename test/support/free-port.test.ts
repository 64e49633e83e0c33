import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from './free-port.js';
import { runChild } from '../start/run-child.js';

async function listen(port: number): Promise<void> {
  const server = createServer().listen(port, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
}

/** Ports that a process of its own has taken and keeps. */
async function takenElsewhere(many: number) {
  const child = runChild('test/start/children/free-ports.ts', [String(many)]);
  return { ...child, ports: JSON.parse(await child.said()) as number[] };
}

describe('a free port', () => {
  it('is given once, to however many runs ask side by side', async () => {
    const others = await Promise.all([takenElsewhere(150), takenElsewhere(150), takenElsewhere(150)]);
    const ours: number[] = [];
    for (let n = 0; n < 150; n += 1) ours.push(await freePort());
    const all = [...ours, ...others.flatMap(({ ports }) => ports)];

    expect(all).toHaveLength(600);
    expect(new Set(all).size).toBe(600);
  });

  it('can be listened on by whoever asked for it', async () => {
    await expect(listen(await freePort())).resolves.toBeUndefined();
  });

  it('is none where somebody listens', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;

    await expect(freePort({ first: port, last: port })).rejects.toThrow(
      `no port from ${port} to ${port} is free; end what holds them`,
    );
  });

  it('is free again when the process that took it has died', async () => {
    const child = await takenElsewhere(1);
    const [port = 0] = child.ports;
    await expect(freePort({ first: port, last: port })).rejects.toThrow('is free');

    await child.killHard();

    await expect(freePort({ first: port, last: port })).resolves.toBe(port);
  });
});
