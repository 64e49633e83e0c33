import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net';

/** A TCP proxy in front of Postgres that loses what it is told to lose. */
export interface LossyProxy {
  url: string;
  /** Cuts the connection of the next request that contains this text: before it gets to the server, or after the server has
   *  answered it, and the answer is lost. */
  cut(text: string, when: 'answered' | 'before'): void;
  /** Cuts every connection now, whatever the server is doing for it. */
  sever(): void;
  /** How many connections were cut. */
  cuts(): number;
  /** Lets nothing through in either direction, as if the client's process had been stopped. */
  freeze(): void;
  /** Lets through what was held back, and everything after it. */
  thaw(): void;
  close(): Promise<void>;
}

interface Rule {
  text: string;
  when: 'answered' | 'before';
}

export async function startLossyProxy(databaseUrl: string): Promise<LossyProxy> {
  const target = new URL(databaseUrl);
  const pairs = new Set<[Socket, Socket]>();
  let rule: Rule | null = null;
  let cut = 0;
  let isFrozen = false;

  const server = createServer((client) => {
    const upstream = createConnection({ host: target.hostname, port: Number(target.port || 5432) });
    const pair: [Socket, Socket] = [client, upstream];
    let loses = false;
    pairs.add(pair);
    function lose(): void {
      cut += 1;
      drop(pair);
    }
    client.on('data', (data) => {
      const matched = rule && data.includes(rule.text) ? rule : null;
      if (matched) rule = null;
      if (matched?.when === 'before') return lose();
      if (matched) loses = true;
      upstream.write(data);
    });
    upstream.on('data', (data) => {
      if (loses) return lose();
      client.write(data);
    });
    for (const [one, other] of [pair, pair.toReversed() as [Socket, Socket]]) {
      one.on('error', () => other.destroy());
      one.on('close', () => {
        other.end();
        pairs.delete(pair);
      });
    }
    if (isFrozen) hold(pair);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  const url = new URL(databaseUrl);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    cut(text, when) {
      rule = { text, when };
    },
    sever() {
      for (const pair of pairs) drop(pair);
    },
    cuts: () => cut,
    freeze() {
      isFrozen = true;
      for (const pair of pairs) hold(pair);
    },
    thaw() {
      isFrozen = false;
      for (const pair of pairs) for (const socket of pair) socket.resume();
    },
    async close() {
      for (const pair of pairs) for (const socket of pair) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A reset, not an orderly end: nothing more is read of what was on its way. */
function drop(pair: [Socket, Socket]): void {
  for (const socket of pair) socket.resetAndDestroy();
}

function hold(pair: [Socket, Socket]): void {
  for (const socket of pair) socket.pause();
}
