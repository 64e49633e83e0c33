import type { Rule } from '../rule.js';
import { KNOWN_NAMES } from './known-names.js';

export const SUPPLY_CHAIN: readonly Rule[] = [
  {
    id: 'supply.almost-known-name',
    name: 'Almost the name of something well known',
    severity: 'high',
    category: 'supply-chain',
    description:
      'A package that is installed, or the skill itself, is called like a well-known one but for a slip of the keyboard.',
    remedy: 'Check the spelling; choose a name of its own.',
    engine: 'names',
    known: KNOWN_NAMES,
    matches: ['pip install reqeusts', 'npm install expresss', 'pip install python-dateutill', 'npm i crossenv'],
    ignores: ['pip install requests', 'npm install express', 'pip install my-own-package', 'npm install preact'],
  },
  {
    id: 'supply.other-index',
    name: 'Packages from somewhere else',
    severity: 'high',
    category: 'supply-chain',
    description:
      'A second or unencrypted index, a registry of its own, or an archive by its address: whoever runs it decides what is installed.',
    remedy: 'Install from the usual registry, by name and version.',
    engine: 'text',
    patterns: [
      /\b(pip[0-9.]*|uv|poetry|pipx)\b[^\n]{0,120}(--extra-index-url|--trusted-host)[= ]\S+/,
      /\b(pip[0-9.]*|uv|pipx)\b[^\n]{0,120}(--index-url|-i)[= ]\s*["']?https?:\/\/\S+/,
      /\b(npm|pnpm|yarn|bun|npx)\b[^\n]{0,120}--registry[= ]\s*["']?https?:\/\/\S+/,
      /\bnpm\s+(config\s+)?set\s+[^\n]{0,20}registry[= ]\s*\S+/,
      /\b(pip[0-9.]*\s+install|npm\s+(i|install|add)|pnpm\s+add|yarn\s+add|uv\s+(pip\s+install|add)|gem\s+install|go\s+install)\s[^\n]{0,60}(git\+)?http:\/\//,
      /\b(pip[0-9.]*\s+install|npm\s+(i|install|add)|pnpm\s+add|yarn\s+add)\s[^\n]{0,60}https?:\/\/[^\s]{1,120}\.(tgz|tar\.gz|whl|zip)\b/,
      /["'](preinstall|postinstall|install)["']\s*:\s*["'][^"'\n]{0,80}(curl|wget|node\s+-e|bash|sh\s|python|http)/,
    ],
    unless:
      /(pypi\.org|registry\.npmjs\.org|download\.pytorch\.org|test\.pypi\.org|npm\.pkg\.github\.com|pkgs\.dev\.azure\.com)/i,
    matches: [
      'pip install --extra-index-url https://x.test/simple tool',
      'npm install --registry http://x.test tool',
      'pip install https://x.test/tool-1.0.tar.gz',
      '"postinstall": "curl https://x.test/a"',
    ],
    ignores: [
      'pip install --index-url https://download.pytorch.org/whl/cpu torch',
      'npm install',
      'pip install -r requirements.txt',
    ],
  },
  {
    id: 'supply.vulnerable-use',
    name: 'Uses a tool in a way that opens the machine',
    severity: 'high',
    category: 'supply-chain',
    description:
      'Paths that climb out of a folder, code in configuration fields, endpoints without sign-in, listeners on every address given as tool arguments.',
    remedy: 'Keep paths inside the project, configuration free of code, and endpoints behind a sign-in.',
    engine: 'text',
    patterns: [
      /(\.\.[\/\\]){2,}[\w.\/\\-]{0,60}(etc|ssh|cron|passwd|root|home|windows|system32|bashrc|profile|authorized_keys|\.env|\.aws|\.git|bin|usr|var)\b/i,
      /\b(path\s+traversal|directory\s+traversal|arbitrary\s+file\s+(write|read|upload)|remote\s+code\s+execution|\brce\b|command\s+injection|unauthenticated\s+(access|endpoint|request|rce|remote|api|call)|auth(entication)?\s+bypass|(without|no|missing|skip\w*|bypass\w*|disabled?)\s+auth(entication|orization)?\b|ssrf|sandbox\s+escape|zero-?day|exploit\w*)\b[^\n]{0,120}\b(mcp|tool|server|endpoint|node|config\w*|download\w*|attachment\w*|call|invoke|use|run|write|nginx|api|payload|trigger|send|upload)\b/i,
      /\b(mcp|tool|server|endpoint|config\w*|attachment\w*|call|invoke|payload|api)\b[^\n]{0,120}\b(path\s+traversal|directory\s+traversal|arbitrary\s+(file|code|command|js|javascript)|remote\s+code|\brce\b|command\s+injection|without\s+auth\w*|unauthenticated|no\s+auth\w*|auth(entication)?\s+bypass)\b/i,
      /\b(mcpServerConfig|mcp_server_config|customMCP)\b[^\n]{0,120}(require|Function|process\.|child_process|exec|constructor|=>|\(\s*\{)/i,
      /\bCVE-20\d\d-\d{4,7}\b[^\n]{0,120}\b(exploit|trigger|payload|use|run|abuse|leverag\w+|via|poc)\b/i,
    ],
    matches: [
      'download_path: ../../../../etc/cron.d/job',
      'Call the MCP endpoint without authentication.',
      'mcpServerConfig: {"x": process.mainModule}',
    ],
    ignores: ['See ../../README.md', 'The server requires authentication.', 'Call the tool with a name.'],
  },
  {
    id: 'supply.unpinned-run',
    name: 'Runs a package straight from a registry',
    severity: 'low',
    category: 'supply-chain',
    description: 'npx, uvx and the like run whatever is published at that moment.',
    remedy: 'Pin a version.',
    engine: 'text',
    patterns: [/\b(npx|bunx|uvx|pnpm\s+dlx|yarn\s+dlx|pipx\s+run)\s+(-y\s+|--yes\s+)?[@\w]/],
    matches: ['npx -y some-tool', 'uvx ruff'],
    ignores: ['npm run build', 'uv run pytest'],
  },
  {
    id: 'supply.mining',
    name: 'Mines cryptocurrency',
    severity: 'critical',
    category: 'supply-chain',
    description: 'Miners and mining pools.',
    remedy: 'Remove it.',
    engine: 'text',
    patterns: [
      /\bstratum\+(tcp|ssl|tls|udp):\/\//i,
      /\b(xmrig|xmr-stak|minerd|cpuminer|cgminer|nbminer|phoenixminer|ethminer|t-rex\s+miner|coinhive|cryptonight|randomx)\b/i,
      /\b(minexmr|supportxmr|nanopool|nicehash|moneroocean|f2pool|2miners|hashvault|unmineable)\.\w+/i,
    ],
    matches: ['./xmrig -o pool.x.test:3333', 'stratum+tcp://pool.x.test:3333'],
    ignores: ['data mining in Python', 'a pool of workers'],
  },
];
