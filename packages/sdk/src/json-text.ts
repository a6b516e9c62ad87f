/**
 * JSON text of a value; undefined for what has none (a function, undefined). JSON.stringify writes NaN and Infinity as null,
 * which the receiver would take for a missing value: they are refused.
 * @throws TypeError that says what JSON cannot hold, and for a number where it is.
 */
export function jsonTextOf(value: unknown): string | undefined {
  const text = JSON.stringify(value) as string | undefined;
  // Only a text with a null in it can come from such a number, so most values are not walked.
  const found = text?.includes("null") === true ? notFinite(value) : undefined;
  if (found === undefined) return text;
  const place = found.path === "" ? "it" : found.path.replace(/^\./, "");
  throw new TypeError(`${place} is ${found.number}, which JSON does not have; send null or a text instead`);
}

interface NotFinite {
  readonly number: number;
  /** From the value on, e.g. `.rows[3].price`. */
  readonly path: string;
}

/** Members are read as JSON.stringify reads them: own, enumerable, with a text as name. Cycles were refused there already. */
function notFinite(value: unknown): NotFinite | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : { number: value, path: "" };
  // What writes itself (a Date) decides itself what stands for it.
  if (typeof value !== "object" || value === null || ("toJSON" in value && typeof value.toJSON === "function")) return undefined;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const found = notFinite(value[index]);
      if (found !== undefined) return { number: found.number, path: `[${index}]${found.path}` };
    }
    return undefined;
  }
  for (const key of Object.keys(value)) {
    const found = notFinite((value as Readonly<Record<string, unknown>>)[key]);
    if (found !== undefined) return { number: found.number, path: `.${key}${found.path}` };
  }
  return undefined;
}
