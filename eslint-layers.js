import { dirname, relative, resolve, sep } from 'node:path';

/** Who may import whom (docs/architecture.md). A layer is a folder of src/, or the folder of the same name inside a domain
 *  (`layerOf`). `from`: layers that may be imported; `typesFrom`: layers whose types alone may be; `packages`: an allow-list, where
 *  there is one. A layer that is not named here may import nothing of ours. */
const layers = {
  core: { from: [], packages: [] },
  tables: { from: ['core'], packages: [] },
  workflows: { from: ['core'], typesFrom: ['activities'], packages: ['@temporalio/workflow'] },
  ports: { from: [], typesFrom: ['core', 'tables'] },
  activities: { from: ['core', 'tables', 'ports', 'db', 'telemetry'] },
  adapters: { from: ['core', 'ports'] },
  db: { from: ['core', 'tables'], typesFrom: ['ports'] },
  loops: { from: ['core', 'ports', 'db', 'telemetry'] },
  temporal: { from: ['core', 'ports'] },
  telemetry: { from: ['core', 'tables'] },
  api: { from: ['core', 'tables', 'ports', 'db', 'telemetry'] },
  config: { from: ['core', 'tables'] },
};

/** Pure: they read formats and languages that the engine does not know. */
const packagesOfDomains = { core: ['yaml', 'tinyld'] };

/** The files of a domain that stand beside its layer folders. */
const filesOfDomains = { table: 'tables', domain: 'start', settings: 'config', errors: 'core' };

/** What the engine may import of `src/domains`: the tables are pure, and the manifests are for the processes alone. */
const registries = { tables: 'tables', domains: 'start' };

/** Packages that belong to some layers alone; their types may be named anywhere an allow-list does not forbid it.
 *  `start` builds everything, so it may import everything. */
const packageOwners = {
  pg: ['db'],
  '@prisma/client': ['db'],
  '@prisma/adapter-pg': ['db'],
  fastify: ['api'],
  '@fastify': ['api'],
  '@temporalio/client': ['temporal'],
  '@temporalio/worker': ['temporal'],
  '@temporalio/activity': ['activities'],
  '@temporalio/common': ['activities', 'temporal'],
  '@temporalio/workflow': ['workflows'],
};

const src = resolve(import.meta.dirname, 'src');

const rule = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      ours: '{{layer}} must not import {{target}} (docs/architecture.md: who may import whom).',
      domain:
        'Only {{target}} itself may import from its folder: the engine knows no domain, and no domain knows another.',
      types: '{{layer}} may import only types of {{target}}: write `import type`.',
      package: '{{layer}} must not import the package {{target}} (docs/architecture.md: who may import whom).',
      computed: '{{layer}} must not import a name computed at run time: nobody could check it.',
    },
  },
  create(context) {
    const here = placeOf(context.filename);
    if (here === undefined) return {};
    const { layer } = here;

    function check(node, source, isType) {
      const found = source ? problemOf({ here, file: context.filename, name: source.value, isType }) : computed(layer);
      if (found) context.report({ node, messageId: found.messageId, data: { layer, target: found.target } });
    }
    return {
      ImportDeclaration: (node) => check(node, node.source, node.importKind === 'type'),
      ExportAllDeclaration: (node) => check(node, node.source, node.exportKind === 'type'),
      ExportNamedDeclaration: (node) => node.source && check(node, node.source, node.exportKind === 'type'),
      ImportExpression: (node) => check(node, node.source.type === 'Literal' ? node.source : undefined, false),
      TSImportType: (node) => check(node, node.source, true),
      TSExternalModuleReference: (node) => check(node, node.expression, false),
    };
  },
};

function problemOf({ here, file, name, isType }) {
  return name.startsWith('.') ? problemOfPath({ here, file, name, isType }) : problemOfPackage({ here, name, isType });
}

function problemOfPath({ here, file, name, isType }) {
  const there = placeOf(resolve(dirname(file), name));
  if (there === undefined) return here.layer === 'start' ? undefined : { messageId: 'ours', target: name };
  if (there.domain !== undefined && there.domain !== here.domain && !here.isRegistry) {
    return { messageId: 'domain', target: there.domain };
  }
  if (here.layer === 'start' || there.layer === here.layer) return undefined;
  const { from = [], typesFrom = [] } = layers[here.layer] ?? {};
  if (from.includes(there.layer)) return undefined;
  if (!typesFrom.includes(there.layer)) return { messageId: 'ours', target: there.layer };
  return isType ? undefined : { messageId: 'types', target: there.layer };
}

function problemOfPackage({ here: { layer, domain }, name, isType }) {
  if (layer === 'start') return undefined;
  const { packages } = layers[layer] ?? {};
  const allowed = packages && [...packages, ...((domain && packagesOfDomains[layer]) || [])];
  const isPackage = (entry) => name === entry || name.startsWith(`${entry}/`);
  if (allowed) return allowed.some(isPackage) ? undefined : { messageId: 'package', target: name };
  const owner = Object.keys(packageOwners).find(isPackage);
  if (isType || owner === undefined || packageOwners[owner].includes(layer)) return undefined;
  return { messageId: 'package', target: name };
}

/** A package is loaded on demand in adapters and activities too, but under a name that can be read. */
function computed(layer) {
  if (layer === 'start') return undefined;
  return { messageId: 'computed', target: layer };
}

/** The layer of a file in src/, and the domain that it belongs to. A file directly in src/ (config.ts) is a layer of its own. */
function placeOf(file) {
  const path = relative(src, file).replace(/\.[jt]s$/, '');
  if (path.startsWith('..')) return undefined;
  const [first, ...rest] = path.split(sep);
  if (first !== 'domains') return { layer: first };
  if (rest.length === 1) return { layer: registries[rest[0]] ?? rest[0], isRegistry: rest[0] in registries };
  const [domain, part] = rest;
  return { domain, layer: rest.length === 2 ? (filesOfDomains[part] ?? part) : part };
}

export const layersPlugin = { rules: { 'who-may-import-whom': rule } };
