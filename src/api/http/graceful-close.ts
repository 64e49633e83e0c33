import type { App } from '../app.js';

/** Lets a closing server go as soon as the last answer is out. By itself it would wait for every connection that is kept
 *  alive, or that never asked for anything. */
export function addGracefulClose(app: App, leaving?: AbortSignal): void {
  let isClosing = false;
  let inFlight = 0;

  function hangUpWhenDone(): void {
    setImmediate(() => {
      if (isClosing && inFlight === 0) app.server.closeAllConnections();
    });
  }
  // An answer is over when it was sent, or when its reader has gone: of that no hook tells once a stream has begun.
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
    // Said while there is time: a caller that sends into a connection we are about to close gets no answer.
    if (isClosing || leaving?.aborted) void reply.header('Connection', 'close');
  });
  app.addHook('preClose', async () => {
    isClosing = true;
    hangUpWhenDone();
  });
}
