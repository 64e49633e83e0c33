// Makes a fresh clone ready: called by npm before start and test, does nothing when nothing changed.
// Plain Node, no dependencies, since it runs before anything is installed.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`cannot set up: Node ${process.versions.node} is too old. Install Node 20.19 or newer.`);
  process.exit(1);
}

// Loaded only now: an older Node could not even read it.
const { setUp } = await import('./set-up.mjs');
process.exitCode = await setUp();
