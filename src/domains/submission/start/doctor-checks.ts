import { tmpdir } from 'node:os';
import { gitVersion, USUAL_PATH } from '../adapters/git/git-version.js';
import { type Check, type Finding, messageOf, ok, warning } from '../../../start/doctor/check.js';

export const submissionChecks: readonly Check[] = [{ name: 'git', run: checkGit }];

/** The git of this machine. A worker on another machine has its own. */
async function checkGit(): Promise<Finding> {
  try {
    return ok(`Workers on this machine fetch skills with ${await gitVersion(USUAL_PATH, tmpdir())}.`);
  } catch (error) {
    return warning(`${messageOf(error)}.`, 'Without it, workers on this machine fetch no submitted skill.');
  }
}
