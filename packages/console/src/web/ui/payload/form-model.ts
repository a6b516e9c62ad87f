import { LosslessNumber } from "lossless-json";
import { t } from "../../labels/translate.ts";
import { isBigNumber, type JsonValue } from "../../lib/json.ts";
import { valueFor } from "../../model/prefill.ts";
import {
  asJson,
  asSchema,
  constraintsOf,
  propertiesOf,
  requiredOf,
  resolve,
  type Schema,
  typeName,
} from "../../model/schema.ts";

export type Path = readonly (string | number)[];

interface FieldFacts {
  readonly name: string;
  readonly title: string;
  readonly required: boolean;
  readonly nullable: boolean;
  readonly type: string;
  readonly description: string | undefined;
  readonly constraints: readonly string[];
  /** Value that the member has when the user adds it. */
  readonly initial: JsonValue;
}

/** One member of an object in the form. A member of the kind `json` has no control and is edited as JSON. */
export type Field = FieldFacts &
  (
    | { readonly kind: "string" | "boolean" }
    | { readonly kind: "number" }
    | { readonly kind: "json" }
    | { readonly kind: "enum"; readonly options: readonly JsonValue[] }
    | { readonly kind: "array"; readonly item: ScalarField }
    | { readonly kind: "object"; readonly fields: readonly Field[] }
    | { readonly kind: "choice"; readonly options: readonly Option[] }
  );

/** One of the schemas in a `oneOf` or an `anyOf`. The initial value of its field is that of the option. */
export interface Option {
  readonly title: string;
  readonly field: Field;
}

export type ScalarField =
  | { readonly kind: "string" | "boolean" }
  | { readonly kind: "number" }
  | { readonly kind: "enum"; readonly options: readonly JsonValue[] };

export type FormModel =
  | {
      readonly ok: true;
      readonly fields: readonly Field[];
      /** Set if the whole input is a choice between schemas. There are then no fields. */
      readonly choice?: Field;
      readonly notes: readonly string[];
    }
  | { readonly ok: false; readonly reason: string };

const MAX_DEPTH = 5;
const MAX_FIELDS = 200;
/** Keywords of schemas that a form cannot represent. */
const BEYOND = [
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "if",
  "dependentSchemas",
  "dependentRequired",
  "patternProperties",
  "propertyNames",
];

/** Keywords for a choice between schemas. */
const CHOICES = ["oneOf", "anyOf"] as const;

/**
 * Creates the form for a schema. It may be an object with scalars, enums, lists of scalars, choices, and objects of
 * this kind.
 */
export function formFor(schema: unknown): FormModel {
  const root = asSchema(schema);
  if (root === undefined) return { ok: false, reason: t`The function has no schema for a form.` };
  const resolved = resolve(root, root);
  if (resolved === undefined) return { ok: false, reason: t`The schema has a $ref to another document.` };
  const { schema: plain } = resolved;
  const choice = choiceFor("input", plain, root, 0);
  if (choice?.every(({ field }) => field.kind === "object") === true) {
    const facts = fieldFor("input", root, root, true, 0);
    return { ok: true, fields: [], choice: { ...facts, kind: "choice", options: choice }, notes: [] };
  }
  if (plain.type !== "object" && plain.properties === undefined)
    return { ok: false, reason: t`The schema expects ${typeName(root, root)}; the form supports only objects.` };
  const beyond = BEYOND.filter((name) => plain[name] !== undefined);
  if (beyond.length > 0)
    return { ok: false, reason: t`The schema uses ${beyond.join(", ")}, which the form cannot show.` };
  const fields = fieldsOf(plain, root, 0);
  if (fields.length === 0) return { ok: false, reason: t`The schema defines no members.` };
  if (fields.length > MAX_FIELDS)
    return { ok: false, reason: t`The schema has ${fields.length} members, too many for a form.` };
  const left = fields.filter(({ kind }) => kind === "json").map(({ name }) => name);
  return {
    ok: true,
    fields,
    notes:
      left.length === 0 ? [] : [t`${left.join(", ")}: edited as JSON, because a form cannot represent their schema.`],
  };
}

function fieldsOf(schema: Schema, root: Schema, depth: number): readonly Field[] {
  const required = requiredOf(schema);
  return propertiesOf(schema).map(([name, member]) => fieldFor(name, member, root, required.has(name), depth));
}

function fieldFor(name: string, member: Schema, root: Schema, required: boolean, depth: number): Field {
  const resolved = resolve(member, root);
  const plain = resolved?.schema ?? member;
  const facts: FieldFacts = {
    name,
    title: typeof plain.title === "string" ? plain.title : name,
    required,
    nullable: resolved?.nullable ?? false,
    type: typeName(member, root),
    description: typeof plain.description === "string" ? plain.description : undefined,
    // The enum is left out, because the control shows its options.
    constraints: constraintsOf({ ...plain, enum: undefined }),
    initial: valueFor(member, root, depth + 1),
  };
  const json: Field = { ...facts, kind: "json" };
  if (resolved === undefined) return json;
  const scalar = scalarFor(plain);
  if (scalar !== undefined) return { ...facts, ...scalar };
  const options = choiceFor(name, plain, root, depth);
  if (options !== undefined) return { ...facts, kind: "choice", options };
  if (BEYOND.some((keyword) => plain[keyword] !== undefined)) return json;
  if (plain.type === "array" && plain.prefixItems === undefined) {
    const items = asSchema(plain.items);
    const item = items === undefined ? undefined : resolve(items, root);
    const itemField = item === undefined || item.nullable ? undefined : scalarFor(item.schema);
    return itemField === undefined ? json : { ...facts, kind: "array", item: itemField };
  }
  if ((plain.type === "object" || plain.properties !== undefined) && depth < MAX_DEPTH) {
    const fields = fieldsOf(plain, root, depth + 1);
    return fields.length === 0 ? json : { ...facts, kind: "object", fields };
  }
  return json;
}

/**
 * Returns the options of a schema that has one `oneOf` or `anyOf`. Members of the schema itself are added to each
 * option.
 */
function choiceFor(name: string, schema: Schema, root: Schema, depth: number): readonly Option[] | undefined {
  const used = BEYOND.filter((keyword) => schema[keyword] !== undefined);
  const [keyword] = used;
  if (used.length !== 1 || keyword === undefined || !CHOICES.some((each) => each === keyword)) return undefined;
  const list = schema[keyword];
  if (!Array.isArray(list) || depth >= MAX_DEPTH) return undefined;
  const { [keyword]: _choice, ...beside } = schema;
  return list.map((each, at): Option => {
    const option = asSchema(each) ?? {};
    const resolved = resolve(option, root)?.schema ?? option;
    const merged: Schema = {
      ...beside,
      ...resolved,
      ...(beside.properties === undefined && resolved.properties === undefined
        ? {}
        : { properties: { ...asSchema(beside.properties), ...asSchema(resolved.properties) } }),
      required: [...requiredOf(beside), ...requiredOf(resolved)],
    };
    return {
      title: titleOf(resolved) ?? `${at + 1}: ${typeName(option, root)}`,
      field: fieldFor(name, merged, root, true, depth + 1),
    };
  });
}

/** Returns the title of an option. If it has none, returns its constant member, for example `kind: "card"`. */
function titleOf(schema: Schema): string | undefined {
  if (typeof schema.title === "string") return schema.title;
  const constant = propertiesOf(schema).find(([, member]) => Object.hasOwn(member, "const"));
  return constant === undefined ? undefined : `${constant[0]}: ${JSON.stringify(constant[1].const)}`;
}

/** Returns the option that matches the value best. Returns undefined if none matches. */
export function optionOf(options: readonly Option[], value: JsonValue): Option | undefined {
  const fits = options.map((option) => ({ option, fit: fitOf(option.field, value) }));
  const best = fits.reduce((most, each) => (each.fit > most.fit ? each : most));
  return best.fit < 0 ? undefined : best.option;
}

/**
 * Returns how well a value matches a field: the number of members that the field knows, minus the number of members
 * that it does not know. A negative number means that it does not match.
 */
function fitOf(field: Field, value: JsonValue): number {
  const isKind: boolean = {
    string: typeof value === "string",
    number: typeof value === "number" || isBigNumber(value),
    boolean: typeof value === "boolean",
    enum: field.kind === "enum" && field.options.some((option) => JSON.stringify(option) === JSON.stringify(value)),
    array: Array.isArray(value),
    object: isObject(value),
    choice: field.kind === "choice" && optionOf(field.options, value) !== undefined,
    json: true,
  }[field.kind];
  if (!isKind) return -1;
  if (field.kind !== "object" || !isObject(value)) return 0;
  let known = 0;
  for (const member of field.fields) {
    const present = Object.hasOwn(value, member.name) ? value[member.name] : undefined;
    if (present === undefined && member.required) return -1;
    if (present === undefined) continue;
    if (member.kind === "enum" && fitOf(member, present) < 0) return -1;
    known++;
  }
  return Math.max(0, MAX_FIELDS + 2 * known - Object.keys(value).length);
}

function scalarFor(schema: Schema): ScalarField | undefined {
  if (Array.isArray(schema.enum)) return { kind: "enum", options: schema.enum.map(asJson) };
  if (Object.hasOwn(schema, "const")) return { kind: "enum", options: [asJson(schema.const)] };
  if (BEYOND.some((keyword) => schema[keyword] !== undefined)) return undefined;
  if (schema.type === "string" || schema.type === "boolean") return { kind: schema.type };
  if (schema.type === "number" || schema.type === "integer") return { kind: "number" };
  return undefined;
}

/** Returns the members of the value that are not in the form. The form keeps them unchanged. */
export function unnamedMembers(value: JsonValue, fields: readonly Field[]): readonly string[] {
  if (!isObject(value)) return [];
  const known = new Set(fields.map(({ name }) => name));
  return Object.keys(value).filter((name) => !known.has(name));
}

export function isObject(value: JsonValue | undefined): value is { readonly [name: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isBigNumber(value);
}

export function valueAt(value: JsonValue, path: Path): JsonValue | undefined {
  let at: JsonValue | undefined = value;
  for (const step of path) {
    if (Array.isArray(at)) at = at[step as number];
    else if (isObject(at) && Object.hasOwn(at, String(step))) at = at[String(step)];
    else return undefined;
  }
  return at;
}

/**
 * Returns the value after a change at the path. If `next` is undefined, the value at the path is removed. Missing
 * objects are created. All other parts stay unchanged.
 */
export function setAt(value: JsonValue | undefined, path: Path, next: JsonValue | undefined): JsonValue {
  const [step, ...rest] = path;
  if (step === undefined) return next ?? null;
  if (typeof step === "number") {
    const list: readonly JsonValue[] = Array.isArray(value) ? value : [];
    if (rest.length === 0 && next === undefined) return list.filter((_, at) => at !== step);
    const changed = setAt(list[step], rest, next);
    return step >= list.length ? [...list, changed] : list.map((item, at) => (at === step ? changed : item));
  }
  const members: { readonly [name: string]: JsonValue } = isObject(value) ? value : {};
  if (rest.length === 0 && next === undefined)
    return Object.fromEntries(Object.entries(members).filter(([name]) => name !== step));
  const before = Object.hasOwn(members, step) ? members[step] : undefined;
  const changed = setAt(before, rest, next);
  // `fromEntries` is used because object spread would not create a member named __proto__.
  return Object.fromEntries(
    Object.hasOwn(members, step)
      ? Object.entries(members).map(([name, item]) => [name, name === step ? changed : item])
      : [...Object.entries(members), [step, changed]],
  );
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * Converts the text of a number field to an exact number. An invalid text stays a text, so that the validation reports
 * it.
 */
export function numberFromText(text: string): JsonValue {
  const trimmed = text.trim();
  if (!NUMBER.test(trimmed)) return text;
  const number = Number(trimmed);
  return String(number) === trimmed ? number : new LosslessNumber(trimmed);
}

/** Returns the text for a number field. Returns undefined if the field cannot show the value. */
export function textOfNumber(value: JsonValue): string | undefined {
  if (typeof value === "number" || typeof value === "string") return String(value);
  return isBigNumber(value) ? value.value : undefined;
}
