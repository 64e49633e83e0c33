import pg from 'pg';
import { openScene } from './sweep-data.js';
import { sweeperOf } from './sweep-side.js';

/** The sweep of one tree in a process of its own: fills a database of its own, and sweeps once for each message. */
const [serverUrl = '', name = '', finished = ''] = process.argv.slice(2);
const server = new pg.Client({ connectionString: serverUrl });
await server.connect();
const sweep = await sweeperOf(await openScene(serverUrl, name, Number(finished)), server, []);

process.on('message', () => {
  void sweep().then(
    (swept) => process.send?.(swept),
    (error: unknown) => process.send?.({ error: error instanceof Error ? error.message : String(error) }),
  );
});
process.once('disconnect', () => {
  process.exit(0);
});
process.send?.('ready');
