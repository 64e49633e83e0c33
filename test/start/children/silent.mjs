// Never says that it is ready.
process.on('disconnect', () => process.exit(0));
setInterval(() => undefined, 60_000);
