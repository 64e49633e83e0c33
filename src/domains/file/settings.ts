import { defineSettings } from '../../config/settings-part.js';
import { recoveryAliases } from './config/recovery-settings.js';

export const fileSettings = defineSettings({
  shape: {},
  aliases: recoveryAliases,
  settingsOf: () => ({}),
});

export type FileSettings = ReturnType<typeof fileSettings.settingsOf>;
