/** Earlier servers lose streams when they are killed. */
export const MIN_SERVER_VERSION = "2.10.23";

/** Compares versions such as `2.10.23`. */
export function isOlder(version: string, than: string): boolean {
  const numbers = (text: string): readonly number[] => text.split(/[.-]/).slice(0, 3).map(Number);
  const [one, other] = [numbers(version), numbers(than)];
  const at = one.findIndex((number, index) => number !== other[index]);
  return at !== -1 && (one[at] ?? 0) < (other[at] ?? 0);
}
