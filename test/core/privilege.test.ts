import { describe, expect, it } from 'vitest';
import { type PrivilegeKind, privilegesOf } from '../../src/core/privilege.js';

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
