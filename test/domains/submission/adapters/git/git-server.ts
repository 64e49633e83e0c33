import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export interface GitServer {
  /** Ends with a slash. */
  url: string;
  port: number;
  /** The requested paths. */
  asked: string[];
  /** The bytes of all answers together. */
  sent(): number;
  /** Answers all later requests instead of git. */
  answer(how: Answer | undefined): void;
  answerByGit: Answer;
  close(): Promise<void>;
}

/** git's own server, `git http-backend`, behind HTTP on this machine. */
export async function startGitServer(root: string, address = '127.0.0.1'): Promise<GitServer> {
  let answer: Answer | undefined;
  let sent = 0;
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    const write = response.write.bind(response);
    response.write = ((chunk: Buffer) => {
      sent += chunk.length;
      return write(chunk);
    }) as typeof response.write;
    if (answer) answer(request, response);
    else byGit(request, response);
  });
  function byGit(request: IncomingMessage, response: ServerResponse): void {
    answerByGit(root, request, response);
  }
  server.listen(0, address);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${address}:${port}/`,
    port,
    asked,
    sent: () => sent,
    answer(how) {
      answer = how;
    },
    answerByGit: byGit,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function answerByGit(root: string, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env['PATH'],
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      REQUEST_METHOD: request.method,
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: request.headers['content-type'],
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'],
      GIT_PROTOCOL: request.headers['git-protocol'] as string | undefined,
      REMOTE_ADDR: '127.0.0.1',
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  child.stdin.on('error', () => undefined);
  request.pipe(child.stdin);
  response.once('close', () => child.kill('SIGKILL'));
  passOn(child.stdout, response);
}

/** The output of a CGI program: headers, an empty line, the body. */
function passOn(output: Readable, response: ServerResponse): void {
  let head = Buffer.alloc(0);
  function onHead(chunk: Buffer): void {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    output.off('data', onHead);
    for (const line of head.toString('latin1', 0, end).split('\r\n')) {
      const [, name = '', value = ''] = /^([^:]+): (.*)$/.exec(line) ?? [];
      if (name === 'Status') response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.write(head.subarray(end + 4));
    output.pipe(response);
  }
  output.on('data', onHead);
}
