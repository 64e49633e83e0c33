import type { App } from './app.js';

/** Lets a closing server go as soon as the last answer is out. By itself it would wait for every connection that is kept
 *  alive, or that never asked for anything. */
export function addGracefulClose(app: App): void {
  let isClosing = false;
  let inFlight = 0;

  function hangUpWhenDone(): void {
    setImmediate(() => {
      if (isClosing && inFlight === 0) app.server.closeAllConnections();
    });
  }
  app.addHook('onRequest', async () => {
    inFlight += 1;
  });
  app.addHook('onSend', async (_request, reply) => {
    if (isClosing) void reply.header('Connection', 'close');
  });
  app.addHook('onResponse', async () => {
    inFlight -= 1;
    if (isClosing) hangUpWhenDone();
  });
  app.addHook('preClose', async () => {
    isClosing = true;
    hangUpWhenDone();
  });
}
