import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';

/** The name in the server's certificate, which is not the address that it listens on. */
export const SERVER_NAME = 'temporal.internal';

export interface TlsTemporal {
  address: string;
  /** Paths of PEM files: the authority, a certificate that it signed for a client, and one of another authority. */
  ca: string;
  client: { cert: string; key: string };
  stranger: { cert: string; key: string };
  close(): Promise<void>;
}

/** Stands in front of the Temporal at `target`, as a cluster with mTLS does: it takes only connections with a certificate of its own
 *  authority. */
export async function startTlsTemporal(target: string): Promise<TlsTemporal> {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-tls-'));
  const ca = selfSigned(folder, 'authority');
  const server = signed(folder, 'server', ca, `subjectAltName=DNS:${SERVER_NAME}`);
  const [host = '', port = ''] = target.split(':');
  const listener = createServer(
    {
      ...{ cert: readFileSync(server.cert), key: readFileSync(server.key), ca: readFileSync(ca.cert) },
      ...{ requestCert: true, rejectUnauthorized: true, ALPNProtocols: ['h2'] },
    },
    (socket) => {
      const behind = connect(Number(port), host);
      socket.pipe(behind).pipe(socket);
      socket.on('error', () => behind.destroy());
      behind.on('error', () => socket.destroy());
    },
  );
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    address: `127.0.0.1:${(listener.address() as AddressInfo).port}`,
    ca: ca.cert,
    client: signed(folder, 'client', ca, 'extendedKeyUsage=clientAuth'),
    stranger: selfSigned(folder, 'stranger'),
    async close() {
      listener.close();
      rmSync(folder, { recursive: true });
    },
  };
}

interface Pair {
  cert: string;
  key: string;
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

function selfSigned(folder: string, name: string): Pair {
  const pair = { cert: join(folder, `${name}.pem`), key: join(folder, `${name}.key`) };
  openssl('req', '-x509', ...NEW_KEY, '-keyout', pair.key, '-out', pair.cert, '-days', '2', '-subj', `/CN=${name}`);
  return pair;
}

function signed(folder: string, name: string, ca: Pair, extension: string): Pair {
  const pair = { cert: join(folder, `${name}.pem`), key: join(folder, `${name}.key`) };
  const [request, extensions] = [join(folder, `${name}.csr`), join(folder, `${name}.ext`)];
  writeFileSync(extensions, extension);
  openssl('req', ...NEW_KEY, '-keyout', pair.key, '-out', request, '-subj', `/CN=${name}`);
  const by = ['-CA', ca.cert, '-CAkey', ca.key, '-CAcreateserial', '-extfile', extensions];
  openssl('x509', '-req', '-in', request, ...by, '-out', pair.cert, '-days', '2');
  return pair;
}

function openssl(...args: string[]): void {
  execFileSync('openssl', args, { stdio: 'pipe' });
}
