/** Formats a count. If only some traces were read, it is a lower bound, for example `≥14`. */
export function atLeast(count: number, isPart: boolean): string {
  return `${isPart ? "≥" : ""}${count.toLocaleString("en-GB")}`;
}
