import { createRequire } from "node:module";
import type { Ajv2020 as Ajv2020Type, AnySchema, ValidateFunction } from "ajv/dist/2020.js";
import { linearPattern } from "./linear-pattern.ts";

/**
 * How patterns are matched. `native`: by JavaScript, which takes exponential time for some patterns. `linear`: in time
 * proportional to the text. Features that make this impossible are not supported (look-around, back-references).
 */
export type Patterns = "native" | "linear";

const require = createRequire(import.meta.url);

interface Shared {
  readonly ajv: Ajv2020Type;
  /** Names of the schemas that the validator itself defines. */
  readonly ownRefs: ReadonlySet<string>;
  /**
   * False during a compilation. If the time limit interrupts a compilation, it stays false, because the validator then
   * contains remains of that compilation. A new validator is made for the next one.
   */
  isClean: boolean;
}

const shared: Partial<Record<Patterns, Shared>> = {};

/**
 * Returns the validator. It is loaded only at the first check, because loading takes a tenth of a second and most
 * engines never need it. `format` is only an annotation, as in JSON Schema 2020-12. Unknown keywords are ignored.
 */
export function validator(patterns: Patterns = "native"): Ajv2020Type {
  return sharedValidator(patterns).ajv;
}

function sharedValidator(patterns: Patterns): Shared {
  const known = shared[patterns];
  if (known?.isClean === true) return known;
  const { Ajv2020 } = require("ajv/dist/2020.js") as typeof import("ajv/dist/2020.js");
  const ajv = new Ajv2020({
    strict: false,
    validateFormats: false,
    // Only own properties count, because every object inherits a `constructor` and a `toString`.
    ownProperties: true,
    // Stop at the first error, so that a value with a million errors does not produce a million messages.
    allErrors: false,
    addUsedSchema: false,
    // Off, because otherwise a schema that refers to itself many times would be expanded again and again.
    inlineRefs: false,
    logger: false,
    ...(patterns === "linear" ? { code: { regExp: linearPattern } } : {}),
  });
  // Compile a small schema now, so that the time limit of the first real compilation does not include the meta-schema
  // and the loading of the library for patterns.
  ajv.compile({ type: "string", pattern: "^a$" });
  const made = { ajv, ownRefs: new Set(Object.keys(ajv.refs)), isClean: true };
  shared[patterns] = made;
  return made;
}

/** Compiles a JSON Schema of draft 2020-12, or an older one with the same keywords. Throws with the reason. */
export function compileSchema(format: unknown, patterns: Patterns = "native"): ValidateFunction {
  const made = sharedValidator(patterns);
  const { ajv, ownRefs } = made;
  const schema = typeof format === "boolean" ? format : withoutIdentity(format as Readonly<Record<string, unknown>>);
  made.isClean = false;
  try {
    return ajv.compile(schema as AnySchema);
  } finally {
    // Remove the schema and the `$id` of each of its parts. Otherwise the validator would keep them.
    ajv.removeSchema(schema as AnySchema);
    for (const name of Object.keys(ajv.refs)) if (!ownRefs.has(name)) delete ajv.refs[name];
    made.isClean = true;
  }
}

/**
 * Removes `$id` and `$schema`. Two functions may have schemas with the same `$id`, which the validator would reject.
 * The draft that `$schema` names does not change the meaning.
 */
function withoutIdentity({
  $schema: _draft,
  $id: _id,
  ...schema
}: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return schema;
}
