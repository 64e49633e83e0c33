import { pino } from 'pino';
import { createLogNotifier } from '../../src/adapters/notifier-log.js';
import { notifierContract } from '../ports/notifier-contract.js';

notifierContract(
  'the log',
  async () => {
    const lines: { event: string; sentence: string }[] = [];
    const stream = {
      write(line: string) {
        const { event, sentence } = JSON.parse(line) as { event: string; sentence: string };
        lines.push({ event, sentence });
      },
    };
    return {
      notifier: createLogNotifier(pino({ level: 'info' }, stream)),
      received: () => lines.map(({ event, sentence }) => ({ identity: event, text: sentence })),
      close: () => Promise.resolve(),
    };
  },
  { hasReceiver: false },
);
