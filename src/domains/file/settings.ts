import { defineSettings } from '../../config/settings-part.js';
import { extractorOf, extractorProblemsIn, extractorVariables } from './config/extractor-settings.js';

export const fileSettings = defineSettings({
  shape: { ...extractorVariables },
  problemsIn: (given, tables) => extractorProblemsIn(given, tables),
  settingsOf: (given, projectRoot) => ({ extractor: extractorOf(given, projectRoot) }),
});

export type FileSettings = ReturnType<typeof fileSettings.settingsOf>;
