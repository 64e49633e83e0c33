/** Shows how far a command is: one line that is drawn again at a terminal, plain lines elsewhere. */
export interface ProgressDisplay {
  sent(bytes: number): void;
  /** A line that stays. */
  say(line: string): void;
  /** The states of the files, drawn behind the bar. */
  states(counts: Readonly<Record<string, number>>): void;
  end(): void;
}

const WIDTH = 30;

/** Twenty times a second is smooth, and costs nothing. */
const DRAW_EVERY_MS = 50;

export function createProgressDisplay(out: NodeJS.WriteStream, totalBytes: number): ProgressDisplay {
  let sentBytes = 0;
  let counts = '';
  let drawnAt = 0;
  const { isTTY } = out;

  function draw(isForced = false): void {
    if (!isTTY || (!isForced && performance.now() - drawnAt < DRAW_EVERY_MS)) return;
    drawnAt = performance.now();
    const line = `${barOf(sentBytes, totalBytes)} ${counts}`;
    out.write(`\r\u001b[K${line.slice(0, out.columns - 1)}`);
  }

  return {
    sent(bytes) {
      sentBytes += bytes;
      draw();
    },
    say(line) {
      out.write(isTTY ? `\r\u001b[K${line}\n` : `${line}\n`);
      draw(true);
    },
    states(now) {
      counts = Object.entries(now)
        .map(([state, count]) => `${count} ${state}`)
        .join(', ');
      draw(true);
    },
    end() {
      if (isTTY) out.write('\r\u001b[K');
    },
  };
}

function barOf(sentBytes: number, totalBytes: number): string {
  const share = totalBytes === 0 ? 1 : Math.min(1, Math.max(0, sentBytes / totalBytes));
  const filled = Math.round(share * WIDTH);
  return `[${'#'.repeat(filled)}${'-'.repeat(WIDTH - filled)}] ${String(Math.floor(share * 100)).padStart(3)} % of ${sizeOf(totalBytes)}`;
}

export function sizeOf(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
