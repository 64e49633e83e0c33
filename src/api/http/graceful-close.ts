import type { App } from '../parts.js';

/** Lets a closing server end as soon as the last answer is sent. By itself it would wait for every connection that is
 *  kept alive or that never sent a request. */
export function addGracefulClose(app: App, leaving?: AbortSignal): void {
  let isClosing = false;
  let inFlight = 0;

  function hangUpWhenDone(): void {
    setImmediate(() => {
      if (isClosing && inFlight === 0) app.server.closeAllConnections();
    });
  }
  // An answer is over when it was sent, or when its reader has gone. No hook reports the second case once a stream has
  // begun.
  app.addHook('onRequest', async (_request, reply) => {
    inFlight += 1;
    let isOver = false;
    function end(): void {
      if (isOver) return;
      isOver = true;
      inFlight -= 1;
      if (isClosing) hangUpWhenDone();
    }
    reply.raw.once('finish', end).once('close', end);
  });
  app.addHook('onSend', async (_request, reply) => {
    // The header is sent while there is time: a caller that sends into a connection which we are about to close gets no
    // answer.
    if (isClosing || leaving?.aborted) void reply.header('Connection', 'close');
  });
  app.addHook('preClose', async () => {
    isClosing = true;
    hangUpWhenDone();
  });
}
