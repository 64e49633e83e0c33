import { commandOptions } from '../audit/command-options.js';
import { runCommand } from '../audit/run-command.js';
import { runChaos } from './chaos-run.js';
import { tableOf } from './report.js';

const { items, minutes, seed } = commandOptions(
  'chaos',
  'Random faults of every part, drawn from the seed, while canaries are submitted; the minutes, and up to three more.',
  { items: 2_000, minutes: 10, seed: Date.now() % 1_000_000 },
);

/** Random kills, freezes, cut and slow wires of every part, by a plan that the seed makes, while canaries are submitted at a
 *  steady pace; then everything is healed and audited. Prints the plan, progress, a table and, as its last line, the figures;
 *  exit code 1 if anything was found. Ends by itself within three minutes after the faults. */
runCommand({}, async (installation, say) => {
  const report = await runChaos(installation, { items, forMs: minutes * 60_000, seed, say });
  return { table: tableOf(report), figures: { items, minutes, seed, ...report } };
});
