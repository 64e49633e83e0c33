import { dirname, relative, resolve, sep } from 'node:path';

/** Who may import whom (docs/architecture.md). `from`: our own folders; `typesFrom`: only with `import type`;
 *  `packages`: an allow-list, where there is one; `packagesOf`: what single files may have besides (YAML is read by a pure parser,
 *  in one place for the scanner, the judge and the registry). A folder that is not named here may import nothing of ours. */
const layers = {
  core: { from: [], packages: [], packagesOf: { 'core/front-matter': ['yaml'] } },
  pipelines: { from: ['core'], packages: [] },
  workflows: { from: ['core'], typesFrom: ['activities'], packages: ['@temporalio/workflow'] },
  ports: { from: [], typesFrom: ['core', 'pipelines'] },
  activities: { from: ['core', 'pipelines', 'ports', 'db', 'telemetry'] },
  adapters: {
    from: [
      'ports',
      ...ofCore('errors', 'mail-address', 'judgement', 'plain-text', 'privilege', 'reviewer-address'),
      ...ofCore('skill-address', 'skill-content', 'skill-negation', 'skill-verdict', 'front-matter'),
    ],
  },
  db: { from: ['core', 'pipelines'], typesFrom: ['ports'] },
  temporal: { from: ['core', 'ports'] },
  telemetry: { from: ['core', 'pipelines'] },
  api: { from: ['core', 'pipelines', 'ports', 'db', 'telemetry'] },
  config: { from: ['core', 'pipelines'] },
};

/** The parts of core that adapters share with it: errors, and what is decided about contents. */
function ofCore(...names) {
  return names.map((name) => `core/${name}`);
}

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
      types: '{{layer}} may import only types of {{target}}: write `import type`.',
      package: '{{layer}} must not import the package {{target}} (docs/architecture.md: who may import whom).',
      computed: '{{layer}} must not import a name computed at run time: nobody could check it.',
    },
  },
  create(context) {
    const layer = folderOf(context.filename);
    if (layer === undefined || layer === 'start') return {};

    function check(node, source, isType) {
      const found = source ? problemOf({ layer, file: context.filename, name: source.value, isType }) : computed(layer);
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

function problemOf({ layer, file, name, isType }) {
  return name.startsWith('.')
    ? problemOfPath({ layer, file, name, isType })
    : problemOfPackage({ layer, file, name, isType });
}

function problemOfPath({ layer, file, name, isType }) {
  const path = resolve(dirname(file), name).replace(/\.[jt]s$/, '');
  const folder = folderOf(path);
  if (folder === layer) return undefined;
  const { from = [], typesFrom = [] } = layers[layer] ?? {};
  const target = relative(src, path).split(sep).join('/');
  const isIn = (entry) => target === entry || target.startsWith(`${entry}/`);
  if (from.some(isIn)) return undefined;
  if (!typesFrom.some(isIn)) return { messageId: 'ours', target: folder ?? name };
  return isType ? undefined : { messageId: 'types', target: folder };
}

function problemOfPackage({ layer, file, name, isType }) {
  const { packages, packagesOf = {} } = layers[layer] ?? {};
  const own = packagesOf[relative(src, file).split(sep).join('/').replace(/\.ts$/, '')] ?? [];
  const allowed = packages && [...packages, ...own];
  const isPackage = (entry) => name === entry || name.startsWith(`${entry}/`);
  if (allowed) return allowed.some(isPackage) ? undefined : { messageId: 'package', target: name };
  const owner = Object.keys(packageOwners).find(isPackage);
  if (isType || owner === undefined || packageOwners[owner].includes(layer)) return undefined;
  return { messageId: 'package', target: name };
}

/** A package is loaded on demand in adapters and activities too, but under a name that can be read. */
function computed(layer) {
  return { messageId: 'computed', target: layer };
}

/** The folder of src/ that holds the file; a file directly in src/ (config.ts) is a layer of its own. */
function folderOf(file) {
  const path = relative(src, file);
  if (path.startsWith('..')) return undefined;
  return path.split(sep)[0].replace(/\.[jt]s$/, '');
}

export const layersPlugin = { rules: { 'who-may-import-whom': rule } };
