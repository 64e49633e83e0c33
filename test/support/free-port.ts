import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

export interface PortRange {
  first: number;
  last: number;
}

/** Below the ports that systems hand out by themselves (from 32768 on Linux, 49152 elsewhere): neither an outgoing connection nor
 *  a server that asked for any port takes one of these between our look and its use. */
const OURS: PortRange = { first: 20_000, last: 31_999 };

/** A port where nobody listens, ours until this process ends: others that ask in the same way are given other ones. The mark is
 *  the UDP port of the same number, which no server here uses, and which the system frees when we die. */
export async function freePort({ first, last }: PortRange = OURS): Promise<number> {
  const count = last - first + 1;
  // Processes that start together begin apart, and seldom get into each other's way.
  const start = Math.floor(Math.random() * count);
  for (let n = 0; n < count; n += 1) {
    const port = first + ((start + n) % count);
    if ((await isMarked(port)) && (await isUnused(port))) return port;
  }
  throw new Error(`no port from ${first} to ${last} is free; end what holds them`);
}

/** Whether the mark is ours now. One on a port that turned out to be used is kept: it need not be looked at again. */
async function isMarked(port: number): Promise<boolean> {
  const socket = createSocket('udp4').unref();
  const isOurs = await settles(socket, 'listening', () => socket.bind({ port, address: '127.0.0.1', exclusive: true }));
  if (!isOurs) socket.close();
  return isOurs;
}

async function isUnused(port: number): Promise<boolean> {
  const server = createServer();
  const isFree = await settles(server, 'listening', () => server.listen(port, '127.0.0.1'));
  if (isFree) await once(server.close(), 'close');
  return isFree;
}

/** False: it was refused, as a port is that is taken, or reserved by the system. */
async function settles(emitter: NodeJS.EventEmitter, event: string, begin: () => void): Promise<boolean> {
  const done = once(emitter, event);
  begin();
  try {
    await done;
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'EADDRINUSE' || code === 'EACCES') return false;
    throw error;
  }
}
