import { createRequire } from "node:module";
import type { Ajv2020 as Ajv2020Type, AnySchema, ValidateFunction } from "ajv/dist/2020.js";
import { linearPattern } from "./linear-pattern.ts";

/**
 * How patterns are matched: `native` by JavaScript, which takes exponential time for some; `linear` in time that grows with the text, without what makes
 * that impossible (look-around, back-references).
 */
export type Patterns = "native" | "linear";

const require = createRequire(import.meta.url);

interface Shared {
  readonly ajv: Ajv2020Type;
  /** Names that the validator itself knows. */
  readonly ownRefs: ReadonlySet<string>;
  /** False while it compiles, and after a compilation that the time limit broke off in the midst: what that left behind nobody tidies up. */
  isTidy: boolean;
}

const shared: Partial<Record<Patterns, Shared>> = {};

/**
 * The validator, loaded when the first check is asked for: it takes a tenth of a second, and most engines never need it.
 * `format` only describes, as JSON Schema 2020-12 has it; unknown keywords are passed over.
 */
export function validator(patterns: Patterns = "native"): Ajv2020Type {
  return sharedValidator(patterns).ajv;
}

function sharedValidator(patterns: Patterns): Shared {
  const known = shared[patterns];
  if (known?.isTidy === true) return known;
  const { Ajv2020 } = require("ajv/dist/2020.js") as typeof import("ajv/dist/2020.js");
  const ajv = new Ajv2020({
    strict: false,
    validateFormats: false,
    // A member is there only when the value has it itself: every object has a `constructor` and a `toString`.
    ownProperties: true,
    // A value with a million mistakes must not make a million messages.
    allErrors: false,
    addUsedSchema: false,
    // Without it a schema that refers to itself often is written out again and again.
    inlineRefs: false,
    logger: false,
    ...(patterns === "linear" ? { code: { regExp: linearPattern } } : {}),
  });
  // The first compilation also compiles the schema of schemas, and loads the library for patterns.
  ajv.compile({ type: "string", pattern: "^a$" });
  const made = { ajv, ownRefs: new Set(Object.keys(ajv.refs)), isTidy: true };
  shared[patterns] = made;
  return made;
}

/** Compiles a JSON Schema of draft 2020-12, or an older one that says nothing else. Throws with the reason. */
export function compileSchema(format: unknown, patterns: Patterns = "native"): ValidateFunction {
  const made = sharedValidator(patterns);
  const { ajv, ownRefs } = made;
  const schema = typeof format === "boolean" ? format : withoutIdentity(format as Readonly<Record<string, unknown>>);
  made.isTidy = false;
  try {
    return ajv.compile(schema as AnySchema);
  } finally {
    // It keeps every schema it has seen, otherwise, and the `$id` of every part of one.
    ajv.removeSchema(schema as AnySchema);
    for (const name of Object.keys(ajv.refs)) if (!ownRefs.has(name)) delete ajv.refs[name];
    made.isTidy = true;
  }
}

/** Two functions may carry schemas of one `$id`; and which draft a schema names does not matter for what it says. */
function withoutIdentity({ $schema: _draft, $id: _id, ...schema }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return schema;
}
