import type { Rule } from '../rule.js';

const REMEDY = 'Revoke it now: what was published is known. Then name an environment variable in its place.';

/** Secretlint's recommended rules, and rules for secrets that they miss. */
export const SECRETS: readonly Rule[] = [
  {
    id: 'secrets.known-format',
    name: 'Secret of a known service',
    severity: 'high',
    category: 'secrets',
    description: 'A token or key in the format of a known service.',
    remedy: REMEDY,
    engine: 'secretlint',
    matches: [
      `token ghp_${'a1B2'.repeat(9)}`,
      `xoxb-${'123456789012'}-${'123456789012'}-${'aBcDeFgHiJkLmNoPqRsTuVwX'}`,
    ],
    ignores: ['token ghp_your_token_here', 'a plain sentence'],
  },
  {
    id: 'secrets.own-format',
    name: 'Secret of a service',
    severity: 'high',
    category: 'secrets',
    description: 'Keys and tokens in the formats of clouds, registries, payment, mail and model services.',
    remedy: REMEDY,
    engine: 'text',
    patterns: [
      /\b(AKIA|ASIA|AGPA|AIDA|AROA|ANPA)[A-Z0-9]{16}\b/,
      /aws_?secret_?access_?key["']?\s*[:=]\s*["']?[A-Za-z0-9\/+]{40}\b/i,
      /\bAIza[0-9A-Za-z_-]{35}\b/,
      /\bya29\.[0-9A-Za-z_-]{30,}/,
      /\b(gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})/,
      /\bglpat-[A-Za-z0-9_-]{20,}/,
      /\b(sk|rk)_live_[A-Za-z0-9]{20,}/,
      /\bwhsec_[A-Za-z0-9+\/=]{24,}/,
      /\bsk-(proj-|ant-|or-|svcacct-)[A-Za-z0-9_-]{24,}/,
      /\bsk-[A-Za-z0-9]{40,}/,
      /\bhf_[A-Za-z0-9]{30,}/,
      /\bnpm_[A-Za-z0-9]{36}\b/,
      /\bpypi-[A-Za-z0-9_-]{50,}/,
      /\bxox[abeoprs]-[0-9]{8,}-[A-Za-z0-9-]{20,}/,
      /hooks\.slack\.com\/services\/T[A-Z0-9]{8,}\/B[A-Z0-9]{8,}\/[A-Za-z0-9]{20,}/,
      /\bSG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{40,46}/,
      /\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b/,
      /\bdop_v1_[a-f0-9]{64}\b/,
      /\b(shpat|shpss|shpca)_[a-fA-F0-9]{32}\b/,
      /\bAccountKey=[A-Za-z0-9+\/]{80,}={0,2}/,
      /-----BEGIN\s([A-Z]+\s)?PRIVATE\sKEY(\sBLOCK)?-----/,
      /\beyJ[A-Za-z0-9_-]{15,}\.eyJ[A-Za-z0-9_-]{15,}\.[A-Za-z0-9_-]{20,}/,
      /\b(postgres(ql)?|mysql|mongodb(\+srv)?|redis|amqps?):\/\/[^\s:@\/"'`<>${}]{1,40}:[^\s:@\/"'`<>${}]{8,80}@[^\s\/"'`]{4,}/i,
      /\bAGE-SECRET-KEY-1[A-Z0-9]{50,}/,
    ],
    unless:
      /example|sample|placeholder|your[_-]?|changeme|dummy|redacted|xxxx|\*\*\*|\.\.\.|<[a-z]|1234567890|abcdefgh|localhost|127\.0\.0\.1|user:pass|username:password|:password@|:postgres@/i,
    matches: [
      `AKIA${'Q7ZP3LMN8RTV2WXK'}`,
      `AIza${'Sy7b9KqLm3NpR5tVwX2zA4cE6gH8jL0mNqS'}`,
      `sk_live_${'9aK2mP4xQ7vT1zB8cD3fG6hJ'}`,
      '-----BEGIN RSA PRIVATE KEY-----',
      'postgres://app:h7Kq2mZp9x@db.tool.test/app',
    ],
    ignores: [
      'AKIAIOSFODNN7EXAMPLE',
      'sk-ant-your-key-goes-here-please',
      'postgres://user:password@localhost/db',
      '-----BEGIN PUBLIC KEY-----',
    ],
  },
  {
    id: 'secrets.assigned',
    name: 'Password or key written out',
    severity: 'medium',
    category: 'secrets',
    description: 'A long value given to a name that says password, secret, token or key.',
    remedy: REMEDY,
    engine: 'text',
    patterns: [
      /\b[A-Za-z0-9_.-]{0,30}(password|passwd|secret|api_?key|access_?token|auth_?token|private_?key)["']?\s*[:=]\s*["'][^\s"'$<>{}()]{16,120}["']/i,
    ],
    unless:
      /example|sample|placeholder|your|changeme|dummy|redacted|xxx|\*\*|\.\.\.|test|fake|mock|insert|replace|todo|env|process|12345|abcde|secret["']?$|password["']?$/i,
    matches: ['api_key = "9aK2mP4xQ7vT1zB8cD3f"', 'password: "h7Kq2mZp9xT4vB8n"'],
    ignores: ['api_key = "your-api-key-goes-here"', 'password = os.getenv("DB_PASSWORD")', 'api_key: "${API_KEY}"'],
  },
];
