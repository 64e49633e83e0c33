import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isReservedQueue } from '../../src/core/reserved-queues.js';

/** A name that can't be given to a domain, with the reason. */
export class RefusedName extends Error {}

/** Every form of a domain's name that the template uses. */
export interface Names {
  /** `purchase-order` */
  name: string;
  /** `purchase-orders`: in paths of the API and in names of files. */
  names: string;
  /** `purchaseOrder` */
  camel: string;
  /** `PurchaseOrder` */
  Camel: string;
  /** `purchase_orders`: the table in the database. */
  table: string;
  /** `PURCHASE_ORDER`: the start of its variables. */
  ENV: string;
  /** `purchase order` */
  spoken: string;
  /** `Purchase orders` */
  Spokens: string;
  /** `a purchase order` */
  a: string;
  /** `A purchase order` */
  A: string;
}

const FORM = /^[a-z][a-z0-9]*(-[a-z][a-z0-9]*)*$/;
const LONGEST = 30;

/** Words that can't be the name of a constant in a module. */
const RESERVED = new Set(
  `arguments await break case catch class const continue debugger default delete do else enum eval export extends false finally
  for function if implements import in instanceof interface let new null package private protected public return static super
  switch this throw true try typeof var void while with yield stage`.split(/\s+/),
);

export function namesOf(name: string, plural = pluralOf(name)): Names {
  for (const each of [name, plural]) {
    if (!FORM.test(each) || each.length > LONGEST) {
      throw new RefusedName(
        `'${each}' is no name for a domain: use lower-case words with hyphens between, at most ${LONGEST} characters, such as purchase-order`,
      );
    }
  }
  if (name === plural) throw new RefusedName(`'${name}' can't be its own plural: name another one with --plural`);
  const camel = camelOf(name);
  if (RESERVED.has(camel)) throw new RefusedName(`'${name}' is a word of the language; choose another name`);
  if (isReservedQueue(name)) {
    throw new RefusedName(`'${name}' is the name of a task queue of the engine; choose another name`);
  }
  const spoken = name.replaceAll('-', ' ');
  const a = `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${spoken}`;
  return {
    name,
    names: plural,
    camel,
    Camel: capital(camel),
    table: plural.replaceAll('-', '_'),
    ENV: name.replaceAll('-', '_').toUpperCase(),
    spoken,
    Spokens: capital(plural.replaceAll('-', ' ')),
    a,
    A: capital(a),
  };
}

/** Throws where the repository already uses a form of the name. */
export function assertFree(root: string, { name, names, table, camel, Camel }: Names): void {
  const taken = [
    ...[`src/domains/${name}`, `test/domains/${name}`, `prisma/schema/${name}.prisma`],
    ...[`docs/${names}.md`, `docs/${name}.md`],
  ];
  for (const path of taken) {
    if (existsSync(join(root, path))) throw new RefusedName(`${path} exists already; choose another name`);
  }
  const schema = join(root, 'prisma/schema');
  const models = readdirSync(schema).map((file) => readFileSync(join(schema, file), 'utf8'));
  if (
    models.some(
      (model) => model.includes(`@@map("${table}")`) || new RegExp(`^(model|enum) ${Camel} `, 'm').test(model),
    )
  ) {
    throw new RefusedName(`the database has a table or a model for ${name} already; choose another name or --plural`);
  }
  const sources = [...sourcesIn(join(root, 'src/api')), ...sourcesIn(join(root, 'src/domains'))];
  for (const each of [name, names]) {
    if (sources.some((source) => new RegExp(`/api/v1/${each}\\b`).test(source))) {
      throw new RefusedName(`the API has paths below /api/v1/${each} already; choose another name or --plural`);
    }
  }
  const own = wordsOfTemplate();
  if ([camel, Camel, camelOf(names)].some((word) => own.has(word))) {
    throw new RefusedName(`'${name}' is a word that the code of a domain uses itself; choose another name`);
  }
}

/** Names that the files of the template import or declare. */
function wordsOfTemplate(): Set<string> {
  const files = sourcesIn(join(import.meta.dirname, 'template'), '.ts.txt');
  const imported = files.flatMap((file) =>
    [...file.matchAll(/^import [^;]*;/gms)].flatMap(([text]) => text.match(/\w+/g) ?? []),
  );
  const declared = files.flatMap((file) =>
    [...file.matchAll(/\b(?:const|function|interface|type|class) (\w+)/g)].map(([, word]) => word ?? ''),
  );
  return new Set([...imported, ...declared]);
}

function sourcesIn(folder: string, ending = '.ts'): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(ending))
    .map((path) => readFileSync(join(folder, path), 'utf8'));
}

function pluralOf(name: string): string {
  if (/[^aeiou]y$/.test(name)) return `${name.slice(0, -1)}ies`;
  return /(s|x|z|ch|sh)$/.test(name) ? `${name}es` : `${name}s`;
}

function camelOf(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
