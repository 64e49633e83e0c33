import { endIfTooLarge, watchProcess } from './watch-process.js';

/** A process that holds half of its memory after an answer is replaced, or a content would be blamed for what earlier
 *  contents left behind. */
const WORN_OUT = 0.5;

export interface Service {
  /** Fails with an error whose `code`, if it has one, the parent is told. */
  answer(question: unknown, tell: (progress: unknown) => void): Promise<unknown>;
  /** A first piece of work, which compiles and links the code that later answers use. */
  warm(): Promise<unknown>;
}

/** The other end of `startKillableChild`: answers the parent's questions until the parent is gone. It reads hostile contents, so
 *  it may hang, take too much memory or crash. Its parent then replaces it. */
export async function serveParent({ answer, warm }: Service): Promise<void> {
  const maxBytes = Number(process.argv[2]);
  watchProcess(maxBytes);
  process.once('disconnect', () => process.exit());
  const send = (message: object): void => void process.send?.(message);
  process.on('message', ({ question }: { question: unknown }) => {
    answer(question, (value) => send({ is: 'progress', value })).then(
      (value) => {
        const isWornOut = process.memoryUsage.rss() > maxBytes * WORN_OUT;
        send({ is: 'answer', value, isWornOut });
      },
      (error: unknown) => send({ is: 'fault', ...faultOf(error) }),
    );
  });
  await warm();
  endIfTooLarge(maxBytes);
  send({ is: 'ready' });
}

function faultOf(error: unknown): { message: string; code?: string } {
  if (!(error instanceof Error)) return { message: String(error) };
  const code: unknown = 'code' in error ? error.code : undefined;
  return { message: code === undefined ? String(error) : error.message, ...(typeof code === 'string' && { code }) };
}
