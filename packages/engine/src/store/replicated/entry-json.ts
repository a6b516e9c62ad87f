/** Members that mark encoded bytes, and encoded objects that have a member with one of these names themselves. */
const BYTES = "$bytes";
const ESCAPED = "$escaped";

/**
 * Returns a value as JSON that `fromJson` reads on any node. Bytes are kept. Members that are undefined are left out.
 * Throws TypeError for values that JSON would change, because replicas must run procedures with equal inputs.
 */
export function toJson(value: unknown): string {
  return JSON.stringify(marked(value)) ?? "null";
}

/** Returns the value that `toJson` encoded. */
export function fromJson(text: string): unknown {
  return JSON.parse(text, (_, value: unknown) => unmarked(value));
}

function marked(value: unknown): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "undefined":
      return value;
    case "number":
      if (!Number.isFinite(value)) throw new TypeError(`an entry of a log cannot contain the number ${value}`);
      return value;
    case "object":
      return value === null ? null : markedObject(value);
    default:
      throw new TypeError(`an entry of a log cannot contain a ${typeof value}`);
  }
}

function markedObject(value: object): unknown {
  if (Array.isArray(value)) return value.map(marked);
  if (value instanceof Uint8Array) return { [BYTES]: Buffer.from(value).toString("base64") };
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null)
    throw new TypeError(`an entry of a log cannot contain a ${value.constructor?.name}`);
  const members = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, marked(member)]));
  return BYTES in members || ESCAPED in members ? { [ESCAPED]: Object.entries(members) } : members;
}

function unmarked(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  if (BYTES in value) return new Uint8Array(Buffer.from(String(value[BYTES]), "base64"));
  if (ESCAPED in value) return Object.fromEntries(value[ESCAPED] as readonly [string, unknown][]);
  return value;
}
