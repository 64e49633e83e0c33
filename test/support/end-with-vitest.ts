// A fork that has something open (a worker, a timer) would outlive a vitest that was ended by a signal. `process.exit` is
// vitest's own here and only reports.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
