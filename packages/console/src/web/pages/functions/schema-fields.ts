import {
  asSchema,
  constraintsOf,
  propertiesOf,
  requiredOf,
  resolve,
  type Schema,
  typeName,
} from "../../model/schema.ts";

/** A row in the table of a schema's members. */
export interface SchemaField {
  /** Path of the member, for example `address.city` or `tags[]`. */
  readonly path: string;
  readonly type: string;
  readonly required: boolean;
  /** Default value as JSON text. */
  readonly default: string | undefined;
  readonly constraints: readonly string[];
  readonly description: string | undefined;
}

const MAX_DEPTH = 6;
const MAX_FIELDS = 500;

/**
 * Returns all members of a schema, including members of nested objects and of array items. Returns at most 500 members,
 * up to 6 levels deep.
 */
export function schemaFields(schema: unknown): readonly SchemaField[] {
  const root = asSchema(schema);
  const fields: SchemaField[] = [];
  if (root !== undefined) collect(root, root, "", 0, fields);
  return fields;
}

function collect(schema: Schema, root: Schema, path: string, depth: number, fields: SchemaField[]): void {
  const plain = resolve(schema, root)?.schema;
  if (plain === undefined || depth > MAX_DEPTH) return;
  const items = plain.type === "array" ? asSchema(plain.items) : undefined;
  if (items !== undefined) collect(items, root, `${path}[]`, depth + 1, fields);
  const required = requiredOf(plain);
  for (const [name, member] of propertiesOf(plain)) {
    if (fields.length >= MAX_FIELDS) return;
    const own = resolve(member, root)?.schema ?? member;
    const at = path === "" ? name : `${path}.${name}`;
    fields.push({
      path: at,
      type: typeName(member, root),
      required: required.has(name),
      default: own.default === undefined ? undefined : JSON.stringify(own.default),
      constraints: constraintsOf(own),
      description: typeof own.description === "string" ? own.description : undefined,
    });
    collect(member, root, at, depth + 1, fields);
  }
}
