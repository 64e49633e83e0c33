import { loadConfig } from '../../src/start/parts/from-domains.js';
import { commandOptions } from '../audit/command-options.js';
import { runCommand } from '../audit/run-command.js';
import { runStorm } from './storm-run.js';
import { linesOfStorm, stormFindings } from './storm-verdict.js';

const { items } = commandOptions('storm', 'What one stage needs is down for a while; some five minutes.', {
  items: 300,
});

/** By default one is let through after 30 s, then after 60 s more: two have failed when the wait has grown to this. */
const PROBE_EVERY_MS = 120_000;

/** What one stage needs goes away, under settings as they are by default, and comes back. Prints how much it cost and how fast
 *  the held items were released; exit code 1 if anything was spent, lost or released too fast. */
runCommand({}, async (installation, say) => {
  const report = await runStorm(installation, { items, probeEveryMs: PROBE_EVERY_MS, limitMs: 300_000, say });
  const findings = stormFindings(report, items, loadConfig({}));
  const table = ['', ...linesOfStorm(report), ...findings.map((each) => `  ${each}`)];
  const passed = findings.length === 0;
  return {
    table: [...table, passed ? 'passed' : 'FAILED'].join('\n'),
    figures: { items, ...report, findings, passed },
  };
});
