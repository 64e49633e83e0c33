import { commandOptions } from '../../../audit/command-options.js';
import { runCommand } from '../../../audit/run-command.js';
import { runLoad } from './load-run.js';
import { linesOfLoad, loadFindings, partsOf } from './load-verdict.js';

const { items, 'in-flight': inFlight } = commandOptions(
  'load',
  'Submits skills of local repositories, so many on their way at once; some three minutes for a thousand.',
  { items: 1_000, 'in-flight': 40 },
);

// One caller sends them all, and those that wait for a person stay on their way.
const settings = {
  SUBMISSION_ALLOW_LOCAL: 'true',
  SUBMISSION_MAX_LIVE_PER_OWNER: String(items),
  JUDGE_RULES_MAY_APPROVE: 'true',
};

/** A thousand skills of local repositories, submitted over HTTP. Prints what was promised and measured of each part; exit code 1
 *  if a submission was lost, done twice or ended elsewhere than it must. */
runCommand(settings, async (installation, say) => {
  const report = await runLoad(installation, { items, inFlight, stallMs: 180_000, say });
  const findings = loadFindings(report);
  const passed = findings.length === 0;
  const { perSecond, seconds, failedAttempts, rescues } = report;
  return {
    table: ['', ...linesOfLoad(report), ...findings.map((each) => `  ${each}`), passed ? 'passed' : 'FAILED'].join(
      '\n',
    ),
    figures: { items, seconds, perSecond, failedAttempts, rescues, parts: partsOf(report), findings, passed },
  };
});
