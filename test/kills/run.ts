import { commandOptions } from '../audit/command-options.js';
import { runCommand } from '../audit/run-command.js';
import { runKills } from './kill-run.js';
import { tableOf } from './report.js';

const { canaries, seed, seconds } = commandOptions(
  'kills',
  'Kills every part of an installation in turn under canaries in flight; some two minutes on an idle machine.',
  { canaries: 200, seconds: 330, seed: Date.now() % 1_000_000 },
);

/** Nothing lost, nothing twice: starts an installation of its own, keeps canaries in flight and kills every part of it in
 *  turn. Prints a table and, as its last line, the figures; exit code 1 if anything was lost, doubled or stuck. */
runCommand({}, async (installation, say) => {
  say(`${String(canaries)} canaries, seed ${String(seed)}`);
  const report = await runKills(installation, { canaries, seed, limitMs: seconds * 1_000, say });
  return { table: tableOf(report), figures: { canaries, seed, ...report } };
});
