/**
 * Returns the JSON text of a value, or undefined if it has none (a function, undefined). Rejects NaN and Infinity,
 * because JSON.stringify writes them as null, which the receiver would read as a missing value.
 *
 * @throws TypeError that names the value that JSON cannot represent, and where it is.
 */
export function jsonTextOf(value: unknown): string | undefined {
  const text = JSON.stringify(value) as string | undefined;
  // Only a text that contains `null` can contain such a number, so most values need no search.
  const found = text?.includes("null") === true ? findNonFinite(value) : undefined;
  if (found === undefined) return text;
  const place = found.path === "" ? "it" : found.path.replace(/^\./, "");
  throw new TypeError(`${place} is ${found.number}, which JSON cannot represent; send null or a string instead`);
}

interface NonFinite {
  readonly number: number;
  /** Path to the number, starting at the value, for example `.rows[3].price`. */
  readonly path: string;
}

/**
 * Finds a number that JSON cannot represent. Reads the same members as JSON.stringify: own, enumerable, with string
 * names. There are no cycles, because JSON.stringify has already rejected them.
 */
function findNonFinite(value: unknown): NonFinite | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : { number: value, path: "" };
  // An object with `toJSON` (for example a Date) chooses its own JSON form, so its members are not read.
  if (typeof value !== "object" || value === null || ("toJSON" in value && typeof value.toJSON === "function"))
    return undefined;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const found = findNonFinite(value[index]);
      if (found !== undefined) return { number: found.number, path: `[${index}]${found.path}` };
    }
    return undefined;
  }
  for (const key of Object.keys(value)) {
    const found = findNonFinite((value as Readonly<Record<string, unknown>>)[key]);
    if (found !== undefined) return { number: found.number, path: `.${key}${found.path}` };
  }
  return undefined;
}
