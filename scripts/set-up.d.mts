/** Where a step works and with what. */
export interface SetupContext {
  root: string;
  env: Record<string, string | undefined>;
  say(line: string): void;
}

export interface Step {
  title: string;
  isNeeded(context: SetupContext): boolean;
  run(context: SetupContext): Promise<void>;
}

export function setUp(root?: string, steps?: readonly Step[]): Promise<number>;
