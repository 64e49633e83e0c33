import { defineSettings } from '../../config/settings-part.js';
import { cleanUpOf, cleanUpProblemsIn, cleanUpVariables } from './config/clean-up-settings.js';
import { extractorOf, extractorProblemsIn, extractorVariables } from './config/extractor-settings.js';
import { recoveryAliases } from './config/recovery-settings.js';
import { searchOf, searchVariables } from './config/search-settings.js';
import { uploadsOf, uploadVariables } from './config/upload-settings.js';

export const fileSettings = defineSettings({
  shape: { ...uploadVariables, ...extractorVariables, ...searchVariables, ...cleanUpVariables },
  aliases: recoveryAliases,
  problemsIn: (given, tables) => [...extractorProblemsIn(given, tables), ...cleanUpProblemsIn(given)],
  settingsOf: (given, projectRoot) => ({
    uploads: uploadsOf(given),
    extractor: extractorOf(given, projectRoot),
    search: searchOf(given),
    cleanUp: cleanUpOf(given),
  }),
});

export type FileSettings = ReturnType<typeof fileSettings.settingsOf>;
