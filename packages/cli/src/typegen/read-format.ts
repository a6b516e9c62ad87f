import { intersection } from "./intersection.ts";
import { withoutCycles } from "./self-reference.ts";
import { type FormatTypes, type Member, ROOT, type TypeNode, union, unknown } from "./type-node.ts";

type Schema = Readonly<Record<string, unknown>>;

/** Maximum depth and size of a format. They are limited because formats come from workers and may have any size. */
const MAX_DEPTH = 32;
const MAX_NODES = 5000;

/**
 * Returns the types of a JSON Schema. Returns undefined if there is no format. A part that cannot be expressed becomes
 * unknown, with a note.
 */
export function readFormat(format: unknown): FormatTypes | undefined {
  if (format === null || format === undefined) return undefined;
  const reader = new FormatReader(format);
  const read = reader.read(format, 0);
  const definitions = withoutCycles(reader.definitions(read));
  return { root: definitions.get(ROOT) ?? read, definitions };
}

class FormatReader {
  readonly #root: unknown;
  readonly #definitions = new Map<string, TypeNode | "being read">();
  /**
   * Names of definitions, by reference. They are needed because two groups of definitions may contain the same name.
   */
  readonly #names = new Map<string, string>();
  #nodes = 0;

  constructor(root: unknown) {
    this.#root = root;
  }

  definitions(root: TypeNode): ReadonlyMap<string, TypeNode> {
    const read = [...this.#definitions].map(([name, node]) => [name, node === "being read" ? root : node] as const);
    return new Map(read.sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  read(schema: unknown, depth: number): TypeNode {
    this.#nodes += 1;
    if (depth > MAX_DEPTH || this.#nodes > MAX_NODES) return unknown("the format is too large");
    if (schema === false) return unknown("no value matches: the format is false");
    if (!isSchema(schema)) return unknown();
    const node = this.#withoutNull(schema, depth);
    return schema.nullable === true ? union([node, { kind: "scalar", name: "null" }]) : node;
  }

  #withoutNull(schema: Schema, depth: number): TypeNode {
    if (Object.hasOwn(schema, "const")) return literal([schema.const]);
    if (Array.isArray(schema.enum)) return literal(schema.enum);
    const { $ref: ref, anyOf, oneOf, allOf } = schema;
    const parts = [
      this.#own(schema, depth),
      ...(typeof ref === "string" ? [this.#reference(ref, depth)] : []),
      ...[anyOf, oneOf].flatMap((options) =>
        Array.isArray(options) ? [union(options.map((option) => this.read(option, depth + 1)))] : [],
      ),
      ...(Array.isArray(allOf) ? allOf.map((part) => this.read(part, depth + 1)) : []),
    ];
    return intersection(parts, depth, {
      resolved: ({ name }) => this.#read(name),
      spend: (at) => {
        this.#nodes += 1;
        return at <= MAX_DEPTH && this.#nodes <= MAX_NODES;
      },
    });
  }

  /** Returns the type of the schema's own keywords, without references and combinations. */
  #own(schema: Schema, depth: number): TypeNode {
    if (Array.isArray(schema.type)) return union(schema.type.map((type) => this.#ofType({ ...schema, type }, depth)));
    return this.#ofType(schema, depth);
  }

  #ofType(schema: Schema, depth: number): TypeNode {
    const { type } = schema;
    if (type === "string" || type === "number" || type === "integer" || type === "boolean" || type === "null")
      return { kind: "scalar", name: type };
    if (type === "array") return this.#array(schema, depth);
    if (type === "object" || isSchema(schema.properties) || (type === undefined && Array.isArray(schema.required)))
      return this.#object(schema, depth);
    return unknown();
  }

  #array(schema: Schema, depth: number): TypeNode {
    const isOlder = Array.isArray(schema.items);
    const tuple = isOlder ? schema.items : schema.prefixItems;
    if (!Array.isArray(tuple)) return { kind: "array", items: this.read(schema.items, depth + 1) };
    const rest = isOlder ? schema.additionalItems : schema.items;
    const isClosed = rest === false || (typeof schema.maxItems === "number" && schema.maxItems <= tuple.length);
    const more = isClosed
      ? []
      : [isSchema(rest) ? this.read(rest, depth + 1) : unknown("further items may be anything")];
    return { kind: "array", items: union([...tuple.map((item) => this.read(item, depth + 1)), ...more]) };
  }

  #object(schema: Schema, depth: number): TypeNode {
    const { additionalProperties, patternProperties } = schema;
    const properties = isSchema(schema.properties) ? schema.properties : {};
    const required = new Set(
      Array.isArray(schema.required) ? schema.required.filter((name) => typeof name === "string") : [],
    );
    const names = [...new Set([...Object.keys(properties), ...required])].sort();
    const patterns = isSchema(patternProperties) ? Object.values(patternProperties) : [];
    if (names.length === 0) {
      if (additionalProperties === false && patterns.length === 0) return { kind: "object", members: [], open: false };
      const others = additionalProperties === false ? patterns : [additionalProperties, ...patterns];
      return { kind: "map", values: union(others.map((other) => this.read(other, depth + 1))) };
    }
    const members = names.map((name): Member => {
      const member = memberOf(properties, name);
      const description = isSchema(member) && typeof member.description === "string" ? member.description : undefined;
      return { name, type: this.read(member, depth + 1), required: required.has(name), description };
    });
    const isBare = Object.keys(properties).length === 0 && additionalProperties !== false;
    return {
      kind: "object",
      members,
      open: isBare || additionalProperties === true || isSchema(additionalProperties) || patterns.length > 0,
    };
  }

  /** Returns the definition, or undefined while it is being read. */
  #read(name: string): TypeNode | undefined {
    const target = this.#definitions.get(name);
    return target === "being read" ? undefined : target;
  }

  #reference(ref: string, depth: number): TypeNode {
    if (ref === "#") {
      if (!this.#definitions.has(ROOT)) this.#definitions.set(ROOT, "being read");
      return { kind: "reference", name: ROOT };
    }
    const [, group, name] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(ref) ?? [];
    const target = group === undefined || name === undefined ? undefined : memberOf(memberOf(this.#root, group), name);
    if (name === undefined || target === undefined) return unknown(`the format refers to ${ref}`);
    const known = this.#names.get(ref);
    if (known !== undefined) return { kind: "reference", name: known };
    const own = this.#definitions.has(name) ? `${name} ${group}` : name;
    this.#names.set(ref, own);
    this.#definitions.set(own, "being read");
    this.#definitions.set(own, this.read(target, depth + 1));
    return { kind: "reference", name: own };
  }
}

function literal(values: readonly unknown[]): TypeNode {
  const scalars = values.filter((value) => value === null || ["string", "number", "boolean"].includes(typeof value));
  if (scalars.length < values.length || values.length === 0) return unknown("a constant that is a list or an object");
  return { kind: "literal", values: scalars as (string | number | boolean | null)[] };
}

function memberOf(value: unknown, name: string): unknown {
  return isSchema(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
