/** Whether the arguments ask for help anywhere. The command then only prints its help. */
export function asksForHelp(args: readonly string[]): boolean {
  return args.includes('--help') || args.includes('-h');
}
