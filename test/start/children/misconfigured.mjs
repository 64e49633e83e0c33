console.error('cannot start: 1 setting is wrong.\n  PORT: expected a port');
process.exit(78);
