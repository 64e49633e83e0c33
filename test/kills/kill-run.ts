import { messageOf } from '../../src/core/errors.js';
import type { Installation } from '../support/installation.js';
import { type CampaignOptions, openCampaign } from './campaign.js';
import { PHASES } from './phases.js';
import { auditCampaign, type KillReport } from './report.js';

/** Keeps canaries in flight, kills one part after the other under them, waits until all are done, and audits. */
export async function runKills(installation: Installation, options: CampaignOptions): Promise<KillReport> {
  const campaign = await openCampaign(installation, options);
  try {
    for (const phase of PHASES) await campaign.strike(phase);
    await campaign.finish();
  } catch (error) {
    // Time that is up, or a part that does not come back, ends the run and not its report.
    campaign.ledger.complaints.push(messageOf(error));
  } finally {
    await campaign.close();
  }
  return auditCampaign(campaign);
}
