import { didYouMean, MASK, maskConfig, maskConfigText } from "@svc-runtime/protocol";
import { z } from "zod";
import type { FileProblem } from "./problem.ts";
import { formatKey, type KeyPath, type Position, type YamlSource } from "./source.ts";

type Issue = z.core.$ZodIssue;
type JsonSchema = z.core.JSONSchema.BaseSchema;

export interface SchemaProblemOptions {
  readonly schema: z.ZodType;
  readonly value: unknown;
  readonly base: KeyPath;
  readonly yaml: YamlSource;
  /** Maps key names of other systems to names of the schema, e.g. `{ language: "kind" }`. Used for hints. */
  readonly synonyms?: Synonyms;
}

type Synonyms = Readonly<Record<string, string>>;

/** Converts the issues of a schema to problems with lines. `base` is the path of the checked value in the file. */
export function schemaProblems(issues: readonly Issue[], options: SchemaProblemOptions): FileProblem[] {
  const { value, base, yaml, synonyms } = options;
  const vocabulary = new Vocabulary(options.schema);
  // Secret values must not appear in messages and logs, even if they are invalid.
  const masked = maskConfig(value);
  return issues.flatMap(innermost).flatMap((issue) => {
    const inside = issue.path.map((part) => (typeof part === "number" ? part : String(part)));
    const path = [...base, ...inside];
    if (issue.code === "unrecognized_keys")
      return issue.keys.map((key) =>
        unknownKey(key, { path, yaml, known: vocabulary.keysAt(inside, value), synonyms }),
      );
    if (issue.code === "invalid_key")
      return [
        {
          ...place(yaml.positionOfKey(path)),
          key: formatKey(path),
          message: issue.issues.map((inner) => inner.message).join("; "),
        },
      ];
    const words = vocabulary.wordsAt(inside);
    const found = valueAt(value, inside);
    const shown = valueAt(masked, inside);
    const isSecret = found !== undefined && found !== null && (shown === undefined || shown === MASK);
    if (isSecret)
      return [
        problemAt(
          path,
          yaml,
          `${withoutValue(expectation(issue, words), found)}${isWrongType(issue) ? `, got ${kindOf(found)}` : ""}`,
        ),
      ];
    return [problemAt(path, yaml, sentence(issue, shown, { words, template: yaml.templateOf(path) }))];
  });
}

/**
 * Minimum length of a value that is masked in a message, in characters. A shorter value may be part of a word by
 * chance.
 */
const MIN_REPLACED = 6;

/** Masks the value in a message of the schema, because the message may contain the value. */
function withoutValue(message: string, value: unknown): string {
  return typeof value === "string" && value.length >= MIN_REPLACED ? message.replaceAll(value, MASK) : message;
}

/** Returns a problem of the value at `path`. */
export function problemAt(path: KeyPath, yaml: YamlSource, message: string): FileProblem {
  return { ...place(yaml.positionOf(path)), key: formatKey(path), message };
}

function place(position: Position | undefined): Pick<FileProblem, "line" | "column"> {
  return { line: position?.line, column: position?.column };
}

interface UnknownKeyOptions {
  readonly path: KeyPath;
  readonly yaml: YamlSource;
  readonly known: readonly string[];
  readonly synonyms?: Synonyms | undefined;
}

/** Returns the problem of an unknown key in the block at `path`. */
export function unknownKey(key: string, { path, yaml, known, synonyms = {} }: UnknownKeyOptions): FileProblem {
  const meant = Object.hasOwn(synonyms, key) ? (synonyms[key] ?? key) : key;
  const hint =
    key === "<<"
      ? "; merge keys are not supported, write each key out"
      : didYouMean(meant, known) || (known.length === 0 ? "" : `; known here: ${known.join(", ")}`);
  return {
    ...place(yaml.positionOfKey([...path, key])),
    key: formatKey([...path, key]),
    message: `unknown key ${JSON.stringify(maskConfigText(key))}${hint}`,
  };
}

/**
 * Returns the issues of the alternative of a union that is closest to the value. If no alternative is close, returns
 * the union's own issue.
 */
function innermost(issue: Issue): Issue[] {
  if (issue.code !== "invalid_union" || issue.errors.length === 0) return [issue];
  const close = issue.errors.filter((alternative) => !alternative.some(isWrongKind));
  // An alternative with a wrong constant near the top (e.g. an adapter's name) is less close than an alternative that
  // fails deeper inside.
  const furthest = Math.max(...close.map(depthOfWrongWord));
  const nearest = close.filter((alternative) => depthOfWrongWord(alternative) === furthest);
  const isUndecided = nearest.length > 1 && furthest !== Number.POSITIVE_INFINITY;
  const best = isUndecided ? mergedChoice(nearest) : (nearest.sort((a, b) => a.length - b.length)[0] ?? []);
  if (best.length === 0) return [issue];
  return best.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] })).flatMap(innermost);
}

function depthOfWrongWord(alternative: readonly Issue[]): number {
  return Math.min(
    ...alternative.map((inner) => (inner.code === "invalid_value" ? inner.path.length : Number.POSITIVE_INFINITY)),
  );
}

/** Merges alternatives that differ in a constant, e.g. an adapter's name, into one issue with all constants. */
function mergedChoice(alternatives: readonly (readonly Issue[])[]): Issue[] {
  const choices = alternatives
    .map((issues) => issues.find((inner) => inner.code === "invalid_value"))
    .filter((inner) => inner !== undefined);
  const [first] = choices;
  if (first === undefined) return [];
  const samePlace = choices.filter((inner) => formatKey(inner.path.map(String)) === formatKey(first.path.map(String)));
  return [{ ...first, values: [...new Set(samePlace.flatMap((inner) => inner.values))] }];
}

/** True if the value has a wrong type. The type of a secret value is shown only in this case. */
function isWrongType(issue: Issue): boolean {
  return issue.code === "invalid_type" || issue.code === "invalid_union";
}

function isWrongKind(issue: Issue): boolean {
  return issue.path.length === 0 && (issue.code === "invalid_type" || issue.code === "invalid_value");
}

/** Returns a sentence with the expectation, the value, and a suggestion if the value is similar to a valid one. */
function sentence(
  issue: Issue,
  found: unknown,
  context: { readonly words: readonly unknown[]; readonly template: string | undefined },
): string {
  const values = issue.code === "invalid_value" ? issue.values : issue.code === "invalid_union" ? context.words : [];
  return `${found === undefined ? "is missing; it " : ""}${expectation(issue, values)}${gotText(found, context.template)}${nearestOf(found, values)}`;
}

/**
 * Matches the start of the schema library's default messages. Other messages were written for this schema, and are used
 * unchanged.
 */
const LIBRARY_WORDING = /^(?:Invalid |Too (?:small|big))/;

function expectation(issue: Issue, values: readonly unknown[]): string {
  if (!LIBRARY_WORDING.test(issue.message)) return lowerFirst(issue.message);
  switch (issue.code) {
    case "invalid_type":
      return `must be ${kindInWords(issue.expected)}`;
    case "invalid_value":
      return `must be ${choice(values)}`;
    case "too_small":
      return `must ${limit(issue.origin, "at least", issue.inclusive === false ? "more than" : undefined, issue.minimum)}`;
    case "too_big":
      return `must ${limit(issue.origin, "at most", issue.inclusive === false ? "less than" : undefined, issue.maximum)}`;
    case "invalid_union":
      return `must be ${values.length > 0 ? choice(values) : alternatives(issue.errors) || "one of the documented forms"}`;
    default:
      return lowerFirst(issue.message);
  }
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

function limit(origin: string, inclusive: string, exclusive: string | undefined, bound: number | bigint): string {
  const words = exclusive ?? inclusive;
  if (origin === "string") return `have ${words} ${bound} ${bound === 1 ? "character" : "characters"}`;
  if (origin === "array" || origin === "set") return `have ${words} ${bound} ${bound === 1 ? "entry" : "entries"}`;
  if (origin === "object" || origin === "map" || origin === "record")
    return `have ${words} ${bound} ${bound === 1 ? "key" : "keys"}`;
  return `be ${words} ${bound}`;
}

function alternatives(errors: readonly (readonly Issue[])[]): string {
  const kinds = errors.flatMap((alternative) =>
    alternative
      .filter(isWrongKind)
      .map((issue) =>
        issue.code === "invalid_type"
          ? kindInWords(issue.expected)
          : issue.code === "invalid_value"
            ? choice(issue.values)
            : "",
      ),
  );
  return [...new Set(kinds)].filter((kind) => kind !== "").join(" or ");
}

function choice(values: readonly unknown[]): string {
  const shown = values.map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
  return shown.length === 1 ? `${shown[0]}` : `one of ${shown.join(", ")}`;
}

function nearestOf(found: unknown, values: readonly unknown[]): string {
  if (typeof found !== "string") return "";
  return didYouMean(
    found,
    values.filter((value) => typeof value === "string"),
  );
}

const KINDS: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list (lines that begin with `- `)",
  object: "a block of keys",
  record: "a block of keys",
  null: "null",
};

function kindInWords(expected: string): string {
  return Object.hasOwn(KINDS, expected) ? (KINDS[expected] ?? expected) : expected;
}

const MAX_SHOWN_CHARACTERS = 60;

/**
 * Returns `, got …` with the value in the file. If the value comes from a variable, the variable is shown instead,
 * because the value may be a secret.
 */
function gotText(found: unknown, template: string | undefined): string {
  if (found === undefined) return "";
  if (template !== undefined) return `, got ${kindOf(found)} from ${shortened(maskConfigText(template))}`;
  if (typeof found === "string") return `, got the text ${JSON.stringify(shortened(found))}`;
  if (typeof found === "object" && found !== null) return `, got ${kindOf(found)}`;
  return `, got ${found === null ? "nothing (null)" : String(found)}`;
}

/** Returns the kind of a value in words. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "nothing (null)";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a block of keys";
  if (typeof value === "boolean") return "true or false";
  return typeof value === "string" ? "text" : "a number";
}

function shortened(text: string): string {
  return text.length <= MAX_SHOWN_CHARACTERS ? text : `${text.slice(0, MAX_SHOWN_CHARACTERS)}…`;
}

function valueAt(value: unknown, path: KeyPath): unknown {
  let found = value;
  for (const part of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, part)) return undefined;
    found = (found as Record<string | number, unknown>)[part];
  }
  return found;
}

const known = new WeakMap<z.ZodType, JsonSchema>();

/** Finds the keys and constants that a schema allows at a path, for hints. */
class Vocabulary {
  readonly #root: JsonSchema;

  constructor(schema: z.ZodType) {
    this.#root = known.get(schema) ?? z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
    known.set(schema, this.#root);
  }

  /**
   * Returns the keys that are allowed at a path. Alternatives are ignored if their constants, e.g. an adapter's name,
   * do not match `value`.
   */
  keysAt(path: KeyPath, value: unknown): string[] {
    return [...new Set(this.#at(path, value).flatMap((schema) => Object.keys(schema.properties ?? {})))];
  }

  wordsAt(path: KeyPath): unknown[] {
    return [
      ...new Set(this.#at(path).flatMap((schema) => schema.enum ?? (schema.const === undefined ? [] : [schema.const]))),
    ];
  }

  #at(path: KeyPath, value?: unknown): JsonSchema[] {
    let schemas = chosenBy(value, this.#alternatives(this.#root));
    for (const [index, part] of path.entries()) {
      const inner = schemas.flatMap((schema) => children(schema, part)).flatMap((schema) => this.#alternatives(schema));
      schemas = chosenBy(valueAt(value, path.slice(0, index + 1)), inner);
    }
    return schemas;
  }

  #alternatives(schema: JsonSchema, seen: ReadonlySet<JsonSchema> = new Set()): JsonSchema[] {
    if (seen.has(schema)) return [];
    const target = this.#referenced(schema);
    const inner = [...(target.anyOf ?? []), ...(target.oneOf ?? []), ...(target.allOf ?? [])].filter(
      (part) => typeof part === "object",
    );
    return [target, ...inner.flatMap((part) => this.#alternatives(part, new Set([...seen, schema])))];
  }

  #referenced(schema: JsonSchema): JsonSchema {
    const name = schema.$ref?.replace(/^#\/\$defs\//, "");
    const target = name === undefined ? undefined : name === "#" ? this.#root : this.#root.$defs?.[name];
    return typeof target === "object" ? target : schema;
  }
}

/** Returns the alternatives whose constants match the value. If no alternative matches, returns all of them. */
function chosenBy(value: unknown, schemas: JsonSchema[]): JsonSchema[] {
  const fitting = schemas.filter((schema) =>
    Object.entries(schema.properties ?? {}).every(([name, member]) => {
      const found = valueAt(value, [name]);
      return found === undefined || typeof member !== "object" || member.const === undefined || member.const === found;
    }),
  );
  return fitting.some((schema) => schema.properties !== undefined) ? fitting : schemas;
}

function children(schema: JsonSchema, part: string | number): JsonSchema[] {
  const found = typeof part === "number" ? schema.items : (schema.properties?.[part] ?? schema.additionalProperties);
  return typeof found === "object" && !Array.isArray(found) ? [found as JsonSchema] : [];
}
