import type { ErrorObject } from "ajv";

/** One error in a value. */
export interface Mismatch {
  /** JSON pointer (RFC 6901) into the value; empty for the whole value. */
  readonly path: string;
  /** The expectation. It is the end of a sentence that begins with "… must". */
  readonly expected: string;
}

/** Converts an error of the validator to the wording of svc. The keywords are those of JSON Schema. */
export function mismatchOf({ instancePath, keyword, params, message }: ErrorObject): Mismatch {
  if (keyword === "required")
    return { path: `${instancePath}/${escapePointer(String(params.missingProperty))}`, expected: "be there" };
  if (keyword === "additionalProperties" || keyword === "unevaluatedProperties") {
    const name = String(params.additionalProperty ?? params.unevaluatedProperty);
    return { path: `${instancePath}/${escapePointer(name)}`, expected: "not be there: the format does not name it" };
  }
  if (keyword === "enum") return { path: instancePath, expected: `be one of ${brief(params.allowedValues)}` };
  if (keyword === "const") return { path: instancePath, expected: `be ${brief(params.allowedValue)}` };
  if (keyword === "false schema") return { path: instancePath, expected: "not be there" };
  return { path: instancePath, expected: (message ?? `fit ${keyword}`).replace(/^must /, "") };
}

function escapePointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Maximum length of a list of allowed values in a message, in characters. */
const BRIEF_CHARACTERS = 200;

function brief(value: unknown): string {
  const text = Array.isArray(value) ? value.map((item) => JSON.stringify(item)).join(", ") : JSON.stringify(value);
  return text.length > BRIEF_CHARACTERS ? `${text.slice(0, BRIEF_CHARACTERS)}…` : text;
}
