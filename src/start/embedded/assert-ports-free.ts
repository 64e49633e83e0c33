import { once } from 'node:events';
import { createServer } from 'node:net';
import { StartError } from './start-error.js';

export interface WantedPort {
  variable: string;
  host: string;
  port: number;
}

/** All busy ports in one sentence, before anything is started. */
export async function assertPortsFree(wanted: WantedPort[]): Promise<void> {
  const problems = await Promise.all(wanted.map(problemOf));
  const found = problems.filter((problem) => problem !== undefined);
  if (found.length > 0) throw new StartError(`cannot start: ${found.join(' ')}`);
}

async function problemOf({ variable, host, port }: WantedPort): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen({ port, host, exclusive: true });
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
    return undefined;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE')
      return `port ${port} (${variable}) is in use by another program. Stop that program, or set ${variable} to another port.`;
    if (code === 'EACCES')
      return `port ${port} (${variable}) is not allowed to this user. Set ${variable} to one above 1023.`;
    return `${host}:${port} (${variable}) can't be listened on (${message}).`;
  }
}
