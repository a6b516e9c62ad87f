import { formatJson, type JsonValue } from "../lib/json.ts";
import { asJson, asSchema, propertiesOf, requiredOf, resolve, type Schema } from "./schema.ts";

const MAX_DEPTH = 6;
const MAX_PADDING = 1_000;

const SAMPLES: Readonly<Record<string, string>> = {
  "date-time": "2026-01-01T00:00:00Z",
  date: "2026-01-01",
  time: "00:00:00Z",
  email: "someone@example.com",
  uri: "https://example.com",
  uuid: "00000000-0000-4000-8000-000000000000",
  ipv4: "127.0.0.1",
  ipv6: "::1",
};

/**
 * Returns the initial text of an editor: the value that the schema suggests. Without a suggestion, it is the smallest
 * valid value.
 */
export function prefill(schema: unknown): string {
  const root = asSchema(schema);
  return formatJson(root === undefined ? {} : valueFor(root, root));
}

/**
 * Returns the first of these that the schema has: default, first example, constant, first enum value. Otherwise returns
 * the smallest valid value.
 */
export function valueFor(schema: Schema, root: Schema, depth = 0): JsonValue {
  const resolved = resolve(schema, root);
  if (resolved === undefined) return null;
  const { schema: plain, nullable } = resolved;
  if (plain.default !== undefined) return asJson(plain.default);
  if (Array.isArray(plain.examples) && plain.examples.length > 0) return asJson(plain.examples[0]);
  if (Object.hasOwn(plain, "const")) return asJson(plain.const);
  if (Array.isArray(plain.enum) && plain.enum.length > 0) return asJson(plain.enum[0]);
  const options = plain.anyOf ?? plain.oneOf;
  if (Array.isArray(options) && depth < MAX_DEPTH) return valueFor(asSchema(options[0]) ?? {}, root, depth + 1);
  const type = Array.isArray(plain.type)
    ? plain.type[0]
    : (plain.type ?? (plain.properties === undefined ? undefined : "object"));
  switch (type) {
    case "string":
      return textFor(plain);
    case "integer":
    case "number":
      return numberFor(plain, type === "integer");
    case "boolean":
      return false;
    case "array":
      return depth >= MAX_DEPTH
        ? []
        : Array.from({ length: Math.min(numberOf(plain.minItems) ?? 0, MAX_PADDING) }, () =>
            valueFor(asSchema(plain.items) ?? {}, root, depth + 1),
          );
    case "object":
      return depth >= MAX_DEPTH ? {} : objectFor(plain, root, depth);
    default:
      return depth === 0 && !nullable ? {} : null;
  }
}

function objectFor(schema: Schema, root: Schema, depth: number): JsonValue {
  const required = requiredOf(schema);
  const members = propertiesOf(schema).filter(([name, member]) => {
    const plain = resolve(member, root)?.schema;
    return (
      required.has(name) ||
      plain?.default !== undefined ||
      (Array.isArray(plain?.examples) && plain.examples.length > 0)
    );
  });
  return Object.fromEntries(members.map(([name, member]) => [name, valueFor(member, root, depth + 1)]));
}

function textFor(schema: Schema): string {
  const sample = typeof schema.format === "string" ? (SAMPLES[schema.format] ?? "") : "";
  return sample.padEnd(Math.min(numberOf(schema.minLength) ?? 0, MAX_PADDING), "x");
}

function numberFor(schema: Schema, isInteger: boolean): number {
  const minimum = numberOf(schema.minimum);
  const above = numberOf(schema.exclusiveMinimum);
  const maximum = numberOf(schema.maximum);
  const below = numberOf(schema.exclusiveMaximum);
  const step = numberOf(schema.multipleOf) ?? (isInteger ? 1 : undefined);
  let value = Math.max(0, minimum ?? 0);
  if (minimum === undefined && above === undefined && maximum !== undefined && maximum < 0) value = maximum;
  if (minimum !== undefined && minimum < 0 && (maximum ?? below ?? 0) < 0) value = minimum;
  if (step !== undefined && step > 0) value = Math.ceil(value / step) * step;
  if (above !== undefined && value <= above)
    value =
      step === undefined
        ? above + (below === undefined ? 1 : (below - above) / 2)
        : (Math.floor(above / step) + 1) * step;
  if (below !== undefined && value >= below)
    value = step === undefined ? below - 1 : (Math.ceil(below / step) - 1) * step;
  return value;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}
