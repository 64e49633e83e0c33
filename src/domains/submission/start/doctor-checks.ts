import { tmpdir } from 'node:os';
import { messageOf } from '../../../core/errors.js';
import { missingModelRemark } from '../core/judgement/approver.js';
import { submissionSettings } from '../settings.js';
import { gitVersion, USUAL_PATH } from '../adapters/git/git-version.js';
import { type Check, type Finding, type Patient, reportOk, reportWarning } from '../../../start/doctor/check.js';
import { settingsOf } from '../../../start/parts/domain.js';

export const submissionChecks: readonly Check[] = [
  { name: 'git', run: checkGit },
  { name: 'judge', run: checkJudge },
];

/** The git of this machine. A worker on another machine has its own. */
async function checkGit(): Promise<Finding> {
  try {
    return reportOk(`Workers on this machine fetch skills with ${await gitVersion(USUAL_PATH, tmpdir())}.`);
  } catch (error) {
    return reportWarning(`${messageOf(error)}.`, 'Without it, workers on this machine fetch no submitted skill.');
  }
}

/** Both ways of an installation without a model are the operator's choice, so neither is a warning. */
function checkJudge({ config }: Patient): Finding {
  const settings = settingsOf(config, { name: 'submission', settings: submissionSettings });
  return reportOk(missingModelRemark(settings) ?? `Skills are judged by the model ${settings.judge?.model}.`);
}
