/** Returns, for example, `≥14` if only some traces were read. */
export function atLeast(count: number, isPart: boolean): string {
  return `${isPart ? "≥" : ""}${count.toLocaleString("en-GB")}`;
}
