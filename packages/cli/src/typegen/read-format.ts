import { type FormatTypes, type Member, ROOT, type TypeNode } from "./type-node.ts";

type Schema = Readonly<Record<string, unknown>>;

/** Formats come over the wire, from any worker. */
const MAX_DEPTH = 32;
const MAX_NODES = 5000;

/** The types of a JSON Schema; undefined for no format. What cannot be told becomes unknown, with a remark. */
export function readFormat(format: unknown): FormatTypes | undefined {
  if (format === null || format === undefined) return undefined;
  const reader = new FormatReader(format);
  const root = reader.read(format, 0);
  return { root, definitions: reader.definitions(root) };
}

class FormatReader {
  readonly #root: unknown;
  readonly #definitions = new Map<string, TypeNode | "being read">();
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
    if (depth > MAX_DEPTH || this.#nodes > MAX_NODES) return unknown("the format is larger than can be told");
    if (schema === false) return unknown("nothing fits: the format is false");
    if (!isSchema(schema)) return unknown();
    const node = this.#withoutNull(schema, depth);
    return schema.nullable === true ? union([node, { kind: "scalar", name: "null" }]) : node;
  }

  #withoutNull(schema: Schema, depth: number): TypeNode {
    if (typeof schema.$ref === "string") return this.#reference(schema.$ref, depth);
    if (Object.hasOwn(schema, "const")) return literal([schema.const]);
    if (Array.isArray(schema.enum)) return literal(schema.enum);
    const options = schema.anyOf ?? schema.oneOf;
    if (Array.isArray(options)) return union(options.map((option) => this.read(option, depth + 1)));
    if (Array.isArray(schema.allOf)) return this.#all(schema, schema.allOf, depth);
    if (Array.isArray(schema.type)) return union(schema.type.map((type) => this.#ofType({ ...schema, type }, depth)));
    return this.#ofType(schema, depth);
  }

  #ofType(schema: Schema, depth: number): TypeNode {
    const { type } = schema;
    if (type === "string" || type === "number" || type === "integer" || type === "boolean" || type === "null") return { kind: "scalar", name: type };
    if (type === "array") return this.#array(schema, depth);
    if (type === "object" || isSchema(schema.properties)) return this.#object(schema, depth);
    return unknown();
  }

  #array(schema: Schema, depth: number): TypeNode {
    const tuple = schema.prefixItems ?? (Array.isArray(schema.items) ? schema.items : undefined);
    if (!Array.isArray(tuple)) return { kind: "array", items: this.read(schema.items, depth + 1) };
    const rest = isSchema(schema.items) ? [schema.items] : [];
    return { kind: "array", items: union([...tuple, ...rest].map((item) => this.read(item, depth + 1))) };
  }

  #object(schema: Schema, depth: number): TypeNode {
    const { additionalProperties, patternProperties } = schema;
    const properties = isSchema(schema.properties) ? schema.properties : {};
    const required = new Set(Array.isArray(schema.required) ? schema.required : []);
    const names = Object.keys(properties).sort();
    if (names.length === 0) {
      if (additionalProperties === false && !isSchema(patternProperties)) return { kind: "object", members: [], open: false };
      return { kind: "map", values: isSchema(additionalProperties) ? this.read(additionalProperties, depth + 1) : unknown() };
    }
    const members = names.map((name): Member => {
      const member = properties[name];
      const description = isSchema(member) && typeof member.description === "string" ? member.description : undefined;
      return { name, type: this.read(member, depth + 1), required: required.has(name), description };
    });
    return { kind: "object", members, open: additionalProperties === true || isSchema(additionalProperties) || isSchema(patternProperties) };
  }

  /** Blocks that are all to hold are one block; anything else that is to hold at once cannot be told. */
  #all(schema: Schema, parts: readonly unknown[], depth: number): TypeNode {
    const { allOf: _allOf, ...own } = schema;
    const all = [...(Object.hasOwn(own, "properties") ? [own] : []), ...parts].map((part) => this.#resolved(this.read(part, depth + 1)));
    const [only] = all;
    if (all.length === 1 && only !== undefined) return only;
    const members = new Map<string, Member>();
    for (const part of all) {
      if (part.kind !== "object") return unknown("several formats are to hold at once");
      for (const member of part.members) {
        const known = members.get(member.name);
        members.set(member.name, known === undefined ? member : { ...member, required: member.required || known.required });
      }
    }
    const open = all.some((part) => part.kind === "object" && part.open);
    return { kind: "object", members: [...members.values()].sort((a, b) => (a.name < b.name ? -1 : 1)), open };
  }

  #resolved(node: TypeNode): TypeNode {
    const target = node.kind === "reference" ? this.#definitions.get(node.name) : undefined;
    return target === undefined || target === "being read" ? node : target;
  }

  #reference(ref: string, depth: number): TypeNode {
    if (ref === "#") {
      if (!this.#definitions.has(ROOT)) this.#definitions.set(ROOT, "being read");
      return { kind: "reference", name: ROOT };
    }
    const [, group, name] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(ref) ?? [];
    const target = group === undefined || name === undefined ? undefined : memberOf(memberOf(this.#root, group), name);
    if (name === undefined || target === undefined) return unknown(`the format refers to ${ref}`);
    if (!this.#definitions.has(name)) {
      this.#definitions.set(name, "being read");
      this.#definitions.set(name, this.read(target, depth + 1));
    }
    return { kind: "reference", name };
  }
}

function unknown(remark?: string): TypeNode {
  return { kind: "unknown", remark };
}

function literal(values: readonly unknown[]): TypeNode {
  const scalars = values.filter((value) => value === null || ["string", "number", "boolean"].includes(typeof value));
  if (scalars.length < values.length || values.length === 0) return unknown("a fixed value that is a list or a block");
  return { kind: "literal", values: scalars as (string | number | boolean | null)[] };
}

/** Equal options count once; a union with unknown is unknown. */
function union(options: readonly TypeNode[]): TypeNode {
  const flat = options.flatMap((option) => (option.kind === "union" ? option.options : [option]));
  const anything = flat.find(({ kind }) => kind === "unknown");
  if (anything !== undefined) return anything;
  const distinct = [...new Map(flat.map((option) => [JSON.stringify(option), option])).values()];
  const [only] = distinct;
  return distinct.length === 1 && only !== undefined ? only : distinct.length === 0 ? unknown() : { kind: "union", options: distinct };
}

function memberOf(value: unknown, name: string): unknown {
  return isSchema(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
