/** Leaves room for `.log.2` and the like within the 255 bytes of a file name. */
const MAX_NAME_LENGTH = 200;

/**
 * What is wrong with a worker's name, as the end of a sentence that begins with the name; undefined when it may be used.
 * Names become file and folder names, so they hold letters, digits, `-`, `_` and `.` only.
 */
export function workerNameProblem(name: string): string | undefined {
  if (name.length === 0) return "is empty; expected letters, digits, `-`, `_` or `.`";
  if (name.length > MAX_NAME_LENGTH) return `is ${name.length} characters long; at most ${MAX_NAME_LENGTH} are allowed`;
  if (!/^[A-Za-z0-9._-]+$/.test(name)) return "holds other characters than letters, digits, `-`, `_` and `.`";
  if (name.startsWith(".")) return "starts with `.`";
  if (name.includes("..")) return "holds `..`";
  return undefined;
}
