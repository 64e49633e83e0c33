import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createLateLine, type LateLine } from './late-line.js';

/** A wire between two parts of an installation that a test can damage. */
export interface Proxy {
  port: number;
  /** Breaks every connection, and each new one at once, as a server that is gone would. */
  cut(): void;
  /** Carries nothing any more and breaks nothing: neither side is told. */
  stall(): void;
  /** Carries everything, each piece this much later. */
  delay(ms: number): void;
  /** Carries everything again, also what came while it was stalled. */
  heal(): void;
  /** Lets the next request that matches through, and throws away what the server says on that connection from then on. */
  loseAnswer(matches: Matches): LostAnswer;
  /** Holds the next request that matches back, and all that follows on its connection, until healed. Resolves when it has. */
  holdBack(matches: Matches): Promise<void>;
  /** Leads new connections to another port; those that are there stay where they are. */
  aim(port: number): void;
  close(): Promise<void>;
}

export type Matches = (request: Buffer) => boolean;

export interface LostAnswer {
  /** The server has answered, and nobody heard it. */
  lost: Promise<void>;
  /** Breaks the connection, so that the asking side learns that no answer will come. */
  breakOff(): void;
}

interface Link {
  client: Socket;
  server: Socket;
  toClient: LateLine;
  toServer: LateLine;
  /** What was asked since the server last said something: a request may come in pieces. */
  asked: Buffer;
  losing: Trap | undefined;
  held: Buffer[] | undefined;
}

/** Set for one request; sprung when it comes. */
interface Trap {
  matches: Matches;
  link: Link | undefined;
  done(): void;
}

const UNTOUCHED = { asked: Buffer.alloc(0), losing: undefined, held: undefined };

/** Listens on a port of its own and passes everything on to the one given, until told otherwise. Writes are not held back
 *  for a slow reader: what a test sends fits into memory. */
export async function startProxy(port: number): Promise<Proxy> {
  const links = new Set<Link>();
  let target = port;
  let mode: 'carry' | 'stall' | 'cut' = 'carry';
  let delayMs = 0;
  let loss: Trap | undefined;
  let hold: Trap | undefined;

  const listener = createServer((client) => {
    if (mode === 'cut') return client.resetAndDestroy();
    const server = connect(target, '127.0.0.1');
    const lines = { toClient: createLateLine(client, late), toServer: createLateLine(server, late) };
    const link: Link = { client, server, ...lines, ...UNTOUCHED };
    links.add(link);
    join(client, link.toServer, link);
    join(server, link.toClient, link);
    client.on('data', (chunk) => ask(link, chunk));
    client.on('close', () => links.delete(link));
    server.on('data', (chunk) => answer(link, chunk));
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');

  function late(): number {
    return delayMs;
  }

  /** An orderly end is passed on behind the last words; a broken connection breaks the other one too. */
  function join(socket: Socket, other: LateLine, link: Link): void {
    socket.setNoDelay(true);
    socket.on('error', () => undefined); // 'close' follows, and that is what counts
    socket.on('end', () => other.end());
    socket.on('close', (isBroken) => isBroken && breakLink(link));
    if (mode === 'stall') socket.pause();
  }

  function ask(link: Link, chunk: Buffer): void {
    link.asked = Buffer.concat([link.asked, chunk]);
    if (springs(loss, link)) link.losing = loss;
    if (springs(hold, link)) {
      link.held = [];
      hold?.done();
    }
    if (link.held) link.held.push(chunk);
    else link.toServer.write(chunk);
  }

  function springs(trap: Trap | undefined, link: Link): boolean {
    if (!trap || trap.link || !trap.matches(link.asked)) return false;
    trap.link = link;
    return true;
  }

  function answer(link: Link, chunk: Buffer): void {
    link.asked = Buffer.alloc(0);
    if (link.losing) link.losing.done();
    else link.toClient.write(chunk);
  }

  function breakLink(link: Link): void {
    links.delete(link);
    for (const socket of [link.client, link.server]) if (!socket.destroyed) socket.resetAndDestroy();
  }

  function breakAll(): void {
    for (const link of [...links]) breakLink(link);
  }

  return {
    port: (listener.address() as AddressInfo).port,
    cut() {
      mode = 'cut';
      breakAll();
    },
    stall() {
      mode = 'stall';
      for (const { client, server } of links) [client, server].forEach((socket) => socket.pause());
    },
    delay(ms) {
      delayMs = ms;
    },
    heal() {
      mode = 'carry';
      delayMs = 0;
      for (const link of links) {
        link.toClient.flush();
        link.toServer.flush();
        for (const chunk of link.held ?? []) link.server.write(chunk);
        link.held = undefined;
        [link.client, link.server].forEach((socket) => socket.resume());
      }
    },
    loseAnswer(matches) {
      const { trap, sprung } = setTrap(matches);
      loss = trap;
      return { lost: sprung, breakOff: () => trap.link && breakLink(trap.link) };
    },
    holdBack(matches) {
      const { trap, sprung } = setTrap(matches);
      hold = trap;
      return sprung;
    },
    aim(port) {
      target = port;
    },
    async close() {
      const closed = once(listener, 'close');
      listener.close();
      breakAll();
      await closed;
    },
  };
}

function setTrap(matches: Matches): { trap: Trap; sprung: Promise<void> } {
  let done: () => void = () => undefined;
  const sprung = new Promise<void>((resolve) => {
    done = resolve;
  });
  return { trap: { matches, link: undefined, done: () => done() }, sprung };
}
