import { deflateRawSync } from 'node:zlib';
import type { Answer as GitAnswer, GitServer } from '../adapters/git/git-server.js';
import { bombOf, commitGreet, type HandMade, hugeBlob, type Row, skillFile } from '../adapters/git/repository.js';

/** A repository that is made to do harm, and what its owner is told. */
export interface HostileSkill {
  rows?(made: HandMade): readonly Row[];
  /** In place of a sound SKILL.md. */
  skill?: string | Buffer;
  /** Where the owner is to look: a field of the submission, or a file of the skill. */
  at: { field: 'repoUrl' | 'skillPath' } | { file: string };
  why: RegExp;
}

const A_FILE = { mode: '100644', name: 'a' };
const IN_PATH = { field: 'skillPath' } as const;
const IN_SKILL = { file: 'SKILL.md' };

/** What runs of it, if anything does, leaves a file at `mark`. */
export function hostileSkills(mark: string): Readonly<Record<string, HostileSkill>> {
  return {
    'a symbolic link out of it': {
      rows: (made) => [{ mode: '120000', name: 'passwd', id: made.blob('../../../../etc/passwd') }],
      at: IN_PATH,
      why: /greet\/passwd, which is a symbolic link/,
    },
    'a submodule': {
      rows: () => [{ mode: '160000', name: 'vendor', id: '1'.repeat(40) }],
      at: IN_PATH,
      why: /greet\/vendor, which is a submodule/,
    },
    'a hook': {
      rows: (made) => {
        const hooks = made.folderOf({ 'hooks/post-checkout*': `#!/bin/sh\ntouch ${mark}\n` });
        return [{ mode: '40000', name: '.git', id: hooks }];
      },
      at: IN_PATH,
      why: /not plain text: greet\/\.git/,
    },
    'a folder named ..': {
      rows: (made) => [{ mode: '40000', name: '..', id: made.folderOf({ x: 'x' }) }],
      at: IN_PATH,
      why: /not plain text: greet\/\.\./,
    },
    'a name with control characters': {
      rows: (made) => [{ ...A_FILE, name: '\u001b[2J\na', id: made.blob('x') }],
      at: IN_PATH,
      why: /greet\/\\u\{1b\}\[2J\\u\{a\}a/,
    },
    '10,000 files': {
      rows: (made) => {
        const id = made.blob('x');
        return Array.from({ length: 10_000 }, (_, n) => ({ ...A_FILE, name: `f${String(n).padStart(5, '0')}`, id }));
      },
      at: IN_PATH,
      why: /more than 500 files/,
    },
    'folders that hold each other a thousand million times': {
      rows: (made) => [{ mode: '40000', name: 'd', id: bombOf(made) }],
      at: IN_PATH,
      why: /more than 500 files/,
    },
    'a file of 1 GB': {
      rows: (made) => [{ ...A_FILE, name: 'zeros', id: hugeBlob(made.folder, 2 ** 30) }],
      at: IN_PATH,
      why: /a file that is larger: zeros/,
    },
    'an archive that unpacks to 400 MB': {
      rows: (made) => [{ ...A_FILE, name: 'bomb.zip', id: made.blob(zipBomb(400_000_000)) }],
      at: { file: 'bomb.zip' },
      why: /^Archive/,
    },
    'text that is not UTF-8': {
      skill: Buffer.concat([Buffer.from(skillFile('greet')), Buffer.from([0xff, 0xfe, 0xc3, 0x28])]),
      at: IN_SKILL,
      why: /./,
    },
    'front matter that is a program': {
      skill: `---js\n{ name: 'greet', description: String(require('node:fs').writeFileSync('${mark}', '')) }\n---\n# Hi\n`,
      at: IN_SKILL,
      why: /front matter/i,
    },
    'YAML that grows by its aliases': { skill: frontMatterOf(aliasBomb()), at: IN_SKILL, why: /front matter/i },
    'YAML that is nested without end': {
      skill: frontMatterOf(`more: ${'['.repeat(40_000)}`),
      at: IN_SKILL,
      why: /front matter/i,
    },
  };
}

function frontMatterOf(more: string): string {
  return `---\nname: greet\ndescription: Shows how a skill is fetched.\n${more}\n---\n# Hi\n`;
}

/** A sound archive of one file of zeros; its checksum is left out, which nobody who unpacks it looks at before the end. */
function zipBomb(bytes: number): Buffer {
  const packed = deflateRawSync(Buffer.alloc(bytes), { level: 9 });
  const name = Buffer.from('zeros');
  const facts = Buffer.alloc(26);
  facts.writeUInt16LE(20, 0); // the version that can unpack it
  facts.writeUInt16LE(8, 4); // deflated
  facts.writeUInt32LE(packed.length, 14);
  facts.writeUInt32LE(bytes, 18);
  facts.writeUInt16LE(name.length, 22);
  const local = Buffer.concat([Buffer.from('PK\u0003\u0004'), facts, name, packed]);
  const central = Buffer.concat([Buffer.from('PK\u0001\u0002\u0014\u0000'), facts, Buffer.alloc(14), name]);
  const end = Buffer.alloc(22);
  end.write('PK\u0005\u0006');
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, central, end]);
}

/** Nine letters in a few hundred bytes that read as a thousand million. */
function aliasBomb(): string {
  const names = 'abcdefghi';
  const lines = [...names].map((name, at) => {
    const before = at === 0 ? '"lol"' : `*${names.charAt(at - 1)}`;
    return `${name}: &${name} [${Array.from({ length: 10 }, () => before).join(', ')}]`;
  });
  return lines.join('\n');
}

export function commitHostile(repository: HandMade, { rows, skill }: HostileSkill): void {
  commitGreet(repository, rows?.(repository) ?? [], skill);
}

/** Answers of servers that mean no good, by the repository that is asked for; and what its owner is told. */
export const HOSTILE_SERVERS: Readonly<Record<string, { answer: GitAnswer; why: RegExp }>> = {
  trickles: {
    answer(_, response) {
      response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' });
      const timer = setInterval(() => response.write('0'), 50);
      response.once('close', () => {
        clearInterval(timer);
      });
    },
    why: /could not be reached, or gave no answer/,
  },
  'leads-to-a-private-address': redirecting('http://169.254.169.254/latest/meta-data'),
  'leads-to-a-file': redirecting('file:///etc/passwd'),
  'leads-to-a-program': redirecting('ext::sh -c true'),
};

function redirecting(location: string): { answer: GitAnswer; why: RegExp } {
  return {
    answer: (_, response) => void response.writeHead(302, { location }).end(),
    why: /leads to another address, and redirects are not followed/,
  };
}

export function serveHostile(server: GitServer): void {
  server.answer((request, response) => {
    const [, , repository = ''] = (request.url ?? '').split('/');
    const hostile = HOSTILE_SERVERS[repository];
    if (hostile) hostile.answer(request, response);
    else server.answerByGit(request, response);
  });
}
