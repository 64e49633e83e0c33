import { defineSettings } from '../../config/settings-part.js';
import { searchOf, searchVariables } from './config/search-settings.js';

export const fileSettings = defineSettings({
  shape: { ...searchVariables },
  settingsOf: (given) => ({ search: searchOf(given) }),
});

export type FileSettings = ReturnType<typeof fileSettings.settingsOf>;
