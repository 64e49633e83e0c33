import { defineSettings } from '../../config/settings-part.js';
import { cleanUpOf, cleanUpVariables } from './config/clean-up-settings.js';

export const fileSettings = defineSettings({
  shape: { ...cleanUpVariables },
  settingsOf: (given) => ({ cleanUp: cleanUpOf(given) }),
});

export type FileSettings = ReturnType<typeof fileSettings.settingsOf>;
