import { tmpdir } from 'node:os';
import { messageOf } from '../../../core/errors.js';
import { gitVersion, USUAL_PATH } from '../adapters/git/git-version.js';
import { type Check, type Finding, reportOk, reportWarning } from '../../../start/doctor/check.js';

export const submissionChecks: readonly Check[] = [{ name: 'git', run: checkGit }];

/** The git of this machine. A worker on another machine has its own. */
async function checkGit(): Promise<Finding> {
  try {
    return reportOk(`Workers on this machine fetch skills with ${await gitVersion(USUAL_PATH, tmpdir())}.`);
  } catch (error) {
    return reportWarning(`${messageOf(error)}.`, 'Without it, workers on this machine fetch no submitted skill.');
  }
}
