import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Installation, startInstallation } from '../support/installation.js';
import { TABLE, WORKFLOW_PATCHED, WORKFLOW_UNPATCHED } from './changes.js';
import { buildNext, NEXT_VERSION } from './next-build.js';
import { reportOn, type UpgradeReport } from './report.js';
import { rollOut, type RolloutOptions, SETTINGS } from './rollout.js';

export interface Upgrade {
  installation: Installation;
  run(options: RolloutOptions): Promise<UpgradeReport>;
  close(keep?: 'keep the folder'): Promise<void>;
}

/** An installation of the version that is here, and beside it the next one, built with and without care. */
export async function prepareUpgrade(): Promise<Upgrade> {
  const installation = await startInstallation(SETTINGS);
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-builds-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  async function close(keep?: 'keep the folder'): Promise<void> {
    await installation.stop(keep);
    process.off('exit', remove);
    remove();
  }
  try {
    const next = await buildNext(join(folder, 'next'), [...WORKFLOW_PATCHED, ...TABLE]);
    const careless = await buildNext(join(folder, 'careless'), WORKFLOW_UNPATCHED);
    return {
      installation,
      run: async (options) => {
        const rollout = await rollOut(installation, { root: next, version: NEXT_VERSION }, options);
        return reportOn(installation, rollout, { next, careless });
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
