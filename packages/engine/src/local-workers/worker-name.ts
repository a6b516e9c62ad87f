/** A file name has at most 255 bytes. The maximum leaves space for suffixes such as `.log.2`. */
const MAX_NAME_LENGTH = 200;

/**
 * Returns the reason why a worker's name is invalid. It is the end of a sentence that begins with the name. Returns
 * undefined if the name is valid. Names become file and folder names, so they may contain only letters, digits, `-`,
 * `_` and `.`.
 */
export function workerNameProblem(name: string): string | undefined {
  if (name.length === 0) return "is empty; expected letters, digits, `-`, `_` or `.`";
  if (name.length > MAX_NAME_LENGTH) return `is ${name.length} characters long; at most ${MAX_NAME_LENGTH} are allowed`;
  if (!/^[A-Za-z0-9._-]+$/.test(name)) return "contains other characters than letters, digits, `-`, `_` and `.`";
  if (name.startsWith(".")) return "starts with `.`";
  if (name.includes("..")) return "contains `..`";
  return undefined;
}
