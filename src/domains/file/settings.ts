import { defineSettings } from '../../config/settings-part.js';
import { uploadsOf, uploadVariables } from './config/upload-settings.js';

export const fileSettings = defineSettings({
  shape: { ...uploadVariables },
  settingsOf: (given) => ({ uploads: uploadsOf(given) }),
});

export type FileSettings = ReturnType<typeof fileSettings.settingsOf>;
