import { parseArgs } from 'node:util';
import { runCommand } from '../audit/run-command.js';
import { runChaos } from './chaos-run.js';
import { tableOf } from './report.js';

const { values } = parseArgs({
  options: {
    items: { type: 'string', default: '2000' },
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const [items, minutes, seed] = [Number(values.items), Number(values.minutes), Number(values.seed)];

/** Random kills, freezes, cut and slow wires of every part, by a plan that the seed makes, while canaries are submitted at a
 *  steady pace; then everything is healed and audited. Prints the plan, progress, a table and, as its last line, the figures;
 *  exit code 1 if anything was found. Ends by itself within three minutes after the faults. */
runCommand({}, async (installation, say) => {
  const report = await runChaos(installation, { items, forMs: minutes * 60_000, seed, say });
  return { table: tableOf(report), figures: { items, minutes, seed, ...report } };
});
