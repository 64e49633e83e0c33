import { freePort } from '../../support/free-port.js';

/** Takes as many ports as asked for, says which, and keeps them until it is ended. */
const ports: number[] = [];
for (let n = 0; n < Number(process.argv[2]); n += 1) ports.push(await freePort());
console.log(JSON.stringify(ports));
setInterval(() => undefined, 60_000);
