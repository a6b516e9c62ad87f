/** Maximum length of a format that is enforced, in characters of its JSON. */
const MAX_FORMAT_CHARACTERS = 64 * 1024;
/** Maximum nesting depth of a format. */
const MAX_FORMAT_DEPTH = 32;

/** Keywords whose cost can grow faster than the size of the value. */
const COSTLY: ReadonlySet<string> = new Set([
  "pattern",
  "patternProperties",
  "uniqueItems",
  "contains",
  "$ref",
  "$dynamicRef",
]);
/** Keywords that refer to other schemas. */
const REFERENCES: ReadonlySet<string> = new Set(["$ref", "$dynamicRef", "$recursiveRef"]);

export interface FormatFacts {
  /** Reason why the format is not accepted; undefined if it is accepted. */
  readonly problem: string | undefined;
  /** True if the format has keywords that are expensive for some values. */
  readonly isCostly: boolean;
}

/** Checks a format before it is compiled: its size, its depth, and that it has no references to other documents. */
export function inspectFormat(format: unknown): FormatFacts {
  if (typeof format === "boolean") return { problem: undefined, isCostly: false };
  if (typeof format !== "object" || format === null || Array.isArray(format))
    return refusal("it is not a JSON Schema: an object is expected");
  const characters = JSON.stringify(format).length;
  if (characters > MAX_FORMAT_CHARACTERS)
    return refusal(`it has ${characters} characters; ${MAX_FORMAT_CHARACTERS} is the limit`);
  let isCostly = false;
  let problem: string | undefined;
  const visit = (value: unknown, depth: number): void => {
    if (typeof value !== "object" || value === null || problem !== undefined) return;
    if (depth > MAX_FORMAT_DEPTH) {
      problem = `it is nested deeper than ${MAX_FORMAT_DEPTH}`;
      return;
    }
    for (const [key, member] of Object.entries(value)) {
      if (REFERENCES.has(key) && typeof member === "string" && !member.startsWith("#"))
        problem = `${key} ${JSON.stringify(member)} leads outside the format`;
      if (COSTLY.has(key)) isCostly = true;
      visit(member, depth + 1);
    }
  };
  visit(format, 1);
  return { problem, isCostly };
}

function refusal(problem: string): FormatFacts {
  return { problem, isCostly: false };
}
