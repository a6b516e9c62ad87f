/** Prints a line to stderr, so that it is shown even if the test passes. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
