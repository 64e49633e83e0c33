// Ready at once; does not end when asked.
process.on('SIGTERM', () => console.log('asked to end'));
process.send({ ready: true });
setInterval(() => undefined, 60_000);
