import { fieldName, type QueryField } from "./fields.ts";
import { formatTerm } from "./terms.ts";

export interface Completion {
  /** The part of the text that an option replaces. */
  readonly from: number;
  readonly to: number;
  readonly options: readonly CompletionOption[];
}
export interface CompletionOption {
  readonly text: string;
  readonly description?: string;
}

const MAX_OPTIONS = 10;
/** The word before the caret: an optional sign, then a field name, and a value if there is an operator. */
const BEFORE =
  /(?:^|[\s(])(?:#?-?)(?<field>[\p{L}_][\p{L}\p{N}_./-]*)?(?:(?<sign>>=|<=|!=|[:=~<>])(?<value>[^\s"()]*))?$/u;

/**
 * Returns options for the word before the caret: names of fields, or after an operator values of the field.
 * `valuesOf` returns known values by the name of a field.
 */
export function completeQuery(
  text: string,
  caret: number,
  known: {
    readonly fields: readonly QueryField[];
    /** Names of known attributes as a query writes them, e.g. `attr.order_id` or `value.total`. */
    readonly attributes?: readonly string[];
    readonly valuesOf: (field: string) => readonly string[];
  },
): Completion | undefined {
  const groups = BEFORE.exec(text.slice(0, caret))?.groups;
  if (groups === undefined) return undefined;
  const { field = "", sign, value = "" } = groups;
  if (sign === undefined) return field === "" ? undefined : completion(caret, field, fieldOptions(field, known));
  const name = fieldName(known.fields, field) ?? field;
  const fixed = known.fields.find((each) => each.name === name)?.values ?? [];
  const values = [...new Set([...fixed, ...known.valuesOf(name)])];
  return completion(
    caret,
    value,
    startingWith(values, value).map((each) => ({ text: written(each) })),
  );
}

function completion(caret: number, word: string, options: readonly CompletionOption[]): Completion | undefined {
  const useful = options.filter(({ text }) => text !== word).slice(0, MAX_OPTIONS);
  return useful.length === 0 ? undefined : { from: caret - word.length, to: caret, options: useful };
}

function fieldOptions(
  word: string,
  { fields, attributes = [] }: { readonly fields: readonly QueryField[]; readonly attributes?: readonly string[] },
): readonly CompletionOption[] {
  const lower = word.toLowerCase();
  const keyword = "error".startsWith(lower) ? [{ text: "error", description: "something failed" }] : [];
  const named = fields
    .filter(({ name, aliases }) => [name, ...aliases].some((each) => each.startsWith(lower)))
    .map(({ name, description }) => ({ text: `${name}${name === "duration" ? ">" : ":"}`, description }));
  const ofAttributes = startingWith(attributes, word).map((name) => ({
    text: `${name}:`,
    description: name.startsWith("value.") ? "member of a value" : "attribute",
  }));
  return [...keyword, ...named, ...ofAttributes];
}

/** Returns the values that contain the word. Values that begin with the word come first. */
function startingWith(values: readonly string[], word: string): readonly string[] {
  const lower = word.toLowerCase();
  const begins = values.filter((value) => value.toLowerCase().startsWith(lower));
  const contains = values.filter((value) => !begins.includes(value) && value.toLowerCase().includes(lower));
  return [...begins, ...contains];
}

/** Returns the value as it is written after an operator, in quotation marks if it needs them. */
function written(value: string): string {
  return formatTerm({ kind: "field", field: "x", op: "equals", value, negated: false, off: false }).slice(2);
}
