import { defineSettings } from '../../config/settings-part.js';
import { cleanUpOf, cleanUpVariables } from './config/clean-up-settings.js';
import { recoveryAliases } from './config/recovery-settings.js';

export const fileSettings = defineSettings({
  shape: { ...cleanUpVariables },
  aliases: recoveryAliases,
  settingsOf: (given) => ({ cleanUp: cleanUpOf(given) }),
});

export type FileSettings = ReturnType<typeof fileSettings.settingsOf>;
