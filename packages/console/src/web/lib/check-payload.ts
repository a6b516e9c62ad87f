import { t } from "../labels/translate.ts";
import { asSchema } from "../model/schema.ts";
import { isBigNumber, type JsonValue, parseJson } from "./json.ts";

export interface Problem {
  /** JSON pointer of the invalid value. An empty text means the whole value. */
  readonly pointer: string;
  readonly message: string;
}

export type Check =
  | { readonly kind: "fits" }
  | { readonly kind: "syntax"; readonly message: string }
  | { readonly kind: "problems"; readonly problems: readonly Problem[] }
  /** Not checked, because there is no schema or the schema cannot be used here. */
  | { readonly kind: "unchecked"; readonly reason: string | undefined };

/** Maximum length of a text that is checked, in characters. Checking longer texts would block typing. */
const MAX_CHECKED = 256 * 1024;
const MAX_PROBLEMS = 20;
/** Keywords whose errors are left out, because they only repeat that a nested value is invalid. */
const FRAMES: ReadonlySet<string> = new Set([
  "properties",
  "items",
  "prefixItems",
  "additionalProperties",
  "patternProperties",
  "allOf",
  "$ref",
]);

/** Checks that the text is JSON and matches the schema. Longer texts are checked only by the engine. */
export async function checkPayload(text: string, schema: unknown): Promise<Check> {
  if (text.length > MAX_CHECKED)
    return { kind: "unchecked", reason: t`The input is too large to be checked while typing.` };
  let value: JsonValue;
  try {
    value = parseJson(text);
  } catch (error) {
    return { kind: "syntax", message: (error as Error).message };
  }
  const root = asSchema(schema);
  if (root === undefined) return { kind: "unchecked", reason: undefined };
  try {
    const { Validator } = await import("@cfworker/json-schema");
    const { valid, errors } = new Validator(root, "2020-12", false).validate(plain(value));
    if (valid) return { kind: "fits" };
    const leaves = errors.filter(({ keyword }) => !FRAMES.has(keyword));
    const problems = (leaves.length === 0 ? errors : leaves).map(({ instanceLocation, error }) => ({
      pointer: instanceLocation.replace(/^#/, ""),
      message: error,
    }));
    const seen = new Set<string>();
    const distinct = problems.filter(
      ({ pointer, message }) => !seen.has(`${pointer} ${message}`) && seen.add(`${pointer} ${message}`),
    );
    return { kind: "problems", problems: distinct.slice(0, MAX_PROBLEMS) };
  } catch (error) {
    return { kind: "unchecked", reason: t`The schema cannot be used for validation: ${(error as Error).message}` };
  }
}

/** Converts numbers to a form that the validator accepts. */
function plain(value: JsonValue): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (isBigNumber(value)) return Number(value.value);
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
}
