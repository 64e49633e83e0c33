/** Preloaded into a process of the product: at SIGUSR2 its event loop stands still for as long as this variable says. Timers,
 *  sockets and promises wait; threads below go on, as they do when a stage computes too long in one piece. */
const forMs = Number(process.env.BLOCKED_FOR_MS ?? 0);

process.on('SIGUSR2', () => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, forMs);
});
