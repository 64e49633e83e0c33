import { projectRoot, readVersion } from '../../src/config.js';
import { type Installation, startInstallation } from '../support/installation.js';
import { buildOlder, type OlderBuild, type Skipped } from '../support/older-build.js';
import { type OlderReport, reportFrom } from './from-older-report.js';
import { rollOut, type RolloutOptions, SETTINGS } from './rollout.js';
import { type Scheduled, whenReconciled } from './schedules.js';

export interface UpgradeFrom {
  installation: Installation;
  run(options: RolloutOptions): Promise<OlderReport>;
  close(keep?: 'keep the folder'): Promise<void>;
}

/** An installation of an older commit, to which the present build comes. */
export async function prepareUpgradeFrom(name: string, say: (line: string) => void): Promise<UpgradeFrom | Skipped> {
  const older = await buildOlder(name, say);
  if ('skipped' in older) return older;
  try {
    say(`starting an installation of ${older.version}`);
    const installation = await startInstallation(SETTINGS, older.root);
    return {
      installation,
      run: (options) => upgradeFrom(installation, older, options),
      async close(keep) {
        await installation.stop(keep);
        older.remove();
      },
    };
  } catch (error) {
    older.remove();
    throw error;
  }
}

async function upgradeFrom(
  installation: Installation,
  older: OlderBuild,
  options: RolloutOptions,
): Promise<OlderReport> {
  const { say } = options;
  const token = await installation.token('operator', ['admin']);
  let before: Scheduled[] = [];
  const rollout = await rollOut(
    installation,
    { root: projectRoot, version: readVersion() },
    {
      ...options,
      async beforeNext() {
        before = await whenReconciled(installation.temporalAddress, { url: installation.url, token });
        // As an operator does it: while the old version works, before the first process of the new one starts.
        say(`migrations: ${(await installation.migrateTo(projectRoot)).trim()}`);
      },
    },
  );
  return reportFrom({ installation, rollout, before, token, older });
}
