import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLateLine } from './late-line.js';
import { startProxy } from './proxy.js';
import { until } from './until.js';

/** A server that sends everything back, behind a proxy. */
async function echoed() {
  const server = createServer((socket: Socket) => socket.on('error', () => undefined).pipe(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy = await startProxy((server.address() as AddressInfo).port);
  const client = connect(proxy.port, '127.0.0.1');
  let heard = '';
  client.on('data', (chunk) => (heard += chunk.toString()));
  onTestFinished(async () => {
    client.destroy();
    await proxy.close();
    server.close();
  });
  return { proxy, client, hears: (text: string) => until(`'${text}' is heard`, () => heard === text) };
}

describe('a slow wire', () => {
  it('brings everything, as late as it is slow in both directions', async () => {
    const { proxy, client, hears } = await echoed();
    client.write('a');
    await hears('a');
    proxy.delay(60);
    const began = performance.now();
    client.write('b');
    await hears('ab');
    expect(performance.now() - began).toBeGreaterThanOrEqual(115);
    proxy.heal();
    client.write('c');
    await hears('abc');
  });

  it('lets nothing overtake what was said before, and brings all of it when it is healed', () => {
    const arrived: string[] = [];
    let delayMs = 3_600_000;
    const line = createLateLine(
      {
        write: (chunk: unknown) => arrived.push(String(chunk)) > 0,
        end: () => arrived.push('end') as never,
      },
      () => delayMs,
    );
    line.write(Buffer.from('first'));
    delayMs = 0;
    line.write(Buffer.from('second'));
    line.end();
    expect(arrived).toEqual([]);

    line.flush();
    expect(arrived).toEqual(['first', 'second', 'end']);
  });
});
