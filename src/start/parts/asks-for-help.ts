/** Asked for anywhere, help is all that is given: nothing is done with the rest. */
export function asksForHelp(args: readonly string[]): boolean {
  return args.includes('--help') || args.includes('-h');
}
