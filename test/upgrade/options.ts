export const ABOUT =
  'Puts a changed build in the place of the one that runs, under traffic; some two minutes. --from: puts the present build in ' +
  'the place of an older commit, which is built first. --shared: others use the machine too.';

export const OPTIONS = { canaries: 200, 'stage-ms': 8_000, seconds: 300, shared: false, from: '' };
