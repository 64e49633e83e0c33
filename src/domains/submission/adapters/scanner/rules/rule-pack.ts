import type { Rule } from '../rule.js';
import { CREDENTIALS } from './credentials.js';
import { DESTRUCTION } from './destruction.js';
import { EXECUTION } from './execution.js';
import { EXFILTRATION } from './exfiltration.js';
import { HIDDEN_TEXT } from './hidden-text.js';
import { INJECTION } from './injection.js';
import { OBFUSCATION } from './obfuscation.js';
import { PERSISTENCE } from './persistence.js';
import { PRIVILEGE } from './privilege.js';
import { REMOTE_EXECUTION } from './remote-execution.js';
import { SECRETS } from './secrets.js';
import { SUPPLY_CHAIN } from './supply-chain.js';

/** All rules but the structure rules, which have no patterns. */
export const RULES: readonly Rule[] = [
  ...EXECUTION,
  ...REMOTE_EXECUTION,
  ...DESTRUCTION,
  ...PRIVILEGE,
  ...CREDENTIALS,
  ...EXFILTRATION,
  ...INJECTION,
  ...HIDDEN_TEXT,
  ...OBFUSCATION,
  ...PERSISTENCE,
  ...SUPPLY_CHAIN,
  ...SECRETS,
];
