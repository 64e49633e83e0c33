import { PassThrough, type Readable } from 'node:stream';
import { AppError } from '../../core/errors.js';

/** A sender that says nothing for this long has gone. Mobile lines fall silent for some seconds. */
const SILENCE_MS = 60_000;

/** The bytes of a request, to be passed on as they come. Destroying them leaves the connection open, so that an answer can be sent. They
 *  fail when the sender falls silent or goes. A receiver that is slow is not the sender's fault. */
export function watchBody(body: Readable, silenceMs = SILENCE_MS): Readable {
  const watched = new PassThrough();
  // A sender that goes before a receiver listens must not end the process. The receiver finds the stream destroyed.
  watched.on('error', () => undefined);
  const timer = setTimeout(() => {
    if (body.isPaused()) timer.refresh();
    else watched.destroy(new AppError('request_timeout', `no byte came for ${silenceMs / 1_000} s`));
  }, silenceMs);
  timer.unref();
  const refresh = (): void => {
    timer.refresh();
  };
  const cut = (): void => {
    if (!body.readableEnded) watched.destroy(new AppError('invalid_input', 'the body was cut off before its end'));
  };
  body.on('data', refresh).once('error', cut).once('close', cut);
  watched.once('close', () => {
    clearTimeout(timer);
    body.off('data', refresh).off('close', cut).unpipe(watched);
    // Bytes that nobody takes are read and thrown away, or the connection could not be used again.
    body.resume();
  });
  return body.pipe(watched);
}
