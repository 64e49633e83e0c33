import { parseArgs } from 'node:util';
import { runCommand } from '../audit/run-command.js';
import { runKills } from './kill-run.js';
import { tableOf } from './report.js';

const { values } = parseArgs({
  options: {
    canaries: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '330' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const [canaries, seed, seconds] = [Number(values.canaries), Number(values.seed), Number(values.seconds)];

/** Nothing lost, nothing twice: starts an installation of its own, keeps canaries in flight and kills every part of it in
 *  turn. Prints a table and, as its last line, the figures; exit code 1 if anything was lost, doubled or stuck. */
runCommand({}, async (installation, say) => {
  say(`${String(canaries)} canaries, seed ${String(seed)}`);
  const report = await runKills(installation, { canaries, seed, limitMs: seconds * 1_000, say });
  return { table: tableOf(report), figures: { canaries, seed, ...report } };
});
