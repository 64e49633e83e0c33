// Ready at once; says every second that it is there, as every process of ours does.
process.on('SIGTERM', () => process.exit(0));
process.on('disconnect', () => process.exit(0));
setInterval(() => process.send({ alive: true }), 1_000);
process.send({ ready: true });
