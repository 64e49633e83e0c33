// Ready at once; ends when asked, or when its channel closes.
process.on('SIGTERM', () => process.exit(0));
process.on('disconnect', () => process.exit(0));
console.log(`told ${process.env.TOLD ?? 'nothing'}`);
process.send({ ready: true });
