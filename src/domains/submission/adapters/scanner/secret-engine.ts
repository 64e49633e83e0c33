import { lintSource } from '@secretlint/core';
import { creator } from '@secretlint/secretlint-rule-preset-recommend';
import { extname } from 'node:path/posix';
import type { View } from './view.js';

const config = { rules: [{ id: '@secretlint/secretlint-rule-preset-recommend', rule: creator, options: {} }] };

export interface FoundSecret {
  line: number;
  secret: string;
}

/** Runs secretlint's recommended rules on a view. */
export async function findSecrets({ file, text }: View): Promise<FoundSecret[]> {
  const source = { content: text, filePath: file, ext: extname(file), contentType: 'text' as const };
  const { messages } = await lintSource({ source, options: { config, noPhysicFilePath: true } });
  return messages.map(({ range, loc }) => ({ line: loc.start.line - 1, secret: text.slice(range[0], range[1]) }));
}
