export type PidLock = { taken: true; release(): void } | { taken: false; pid: number | undefined };

export function takePidLock(file: string): PidLock;
export function isAlive(pid: number): boolean;
export function startTimeOf(pid: number): string | undefined;
