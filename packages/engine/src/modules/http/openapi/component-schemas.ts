type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Keywords at the root of a format that hold definitions. They are not copied with the format, because a definition is
 * used only where a `$ref` refers to it.
 */
const DEFINITIONS: ReadonlySet<string> = new Set(["$defs", "definitions"]);

/**
 * The component schemas of an OpenAPI document. A format is the JSON Schema of a function's request or response. The
 * references (`$ref`) in a format start at the root of the format, but in an OpenAPI document they must start at the
 * root of the document. So each schema that a format refers to becomes a component of the document.
 */
export class ComponentSchemas {
  readonly schemas: Record<string, unknown>;
  readonly #texts = new Map<string, string>();
  /**
   * Names of components, so that equal schemas share them. The key is the JSON text of all schemas that a format refers
   * to. The value maps each proposed name to the name of the component.
   */
  readonly #namesByText = new Map<string, ReadonlyMap<string, string>>();
  readonly #numbers = new Map<string, number>();

  constructor(schemas: JsonObject) {
    this.schemas = Object.assign(Object.create(null), schemas) as Record<string, unknown>;
    for (const [name, schema] of Object.entries(schemas)) this.#texts.set(name, JSON.stringify(schema));
  }

  /**
   * Returns the format with its references changed to components. Removes references that lead nowhere or to other
   * documents.
   */
  moved(format: unknown): unknown {
    if (!isObject(format)) return format;
    const targets = targetsOf(format);
    if (targets.size === 0) return withRefs(format, format, new Map());
    const proposed = proposedNames(targets);
    const contents = contentsOf(format, targets, proposed);
    return withRefs(format, format, this.#names(format, targets, proposed, contents));
  }

  #names(
    format: JsonObject,
    targets: ReadonlyMap<string, unknown>,
    proposed: ReadonlyMap<string, string>,
    contents: ReadonlyMap<string, unknown>,
  ): ReadonlyMap<string, string> {
    const text = JSON.stringify([...contents]);
    // The stored names are keyed by proposed name and not by pointer, because the pointers of the other format may
    // differ.
    const known = this.#namesByText.get(text);
    if (known !== undefined) return joined(proposed, known);
    const isFree = [...contents].every(([name, content]) => {
      const used = this.#texts.get(name);
      return used === undefined || used === JSON.stringify(content);
    });
    const renamed = new Map([...contents.keys()].map((name) => [name, isFree ? name : this.#unusedName(name)]));
    this.#namesByText.set(text, renamed);
    const names = joined(proposed, renamed);
    for (const [name, content] of contentsOf(format, targets, names)) {
      this.schemas[name] = content;
      this.#texts.set(name, JSON.stringify(content));
    }
    return names;
  }

  #unusedName(base: string): string {
    for (let number = this.#numbers.get(base) ?? 2; ; number++) {
      const name = `${base}${number}`;
      if (this.#texts.has(name)) continue;
      this.#numbers.set(base, number + 1);
      return name;
    }
  }
}

/** Returns the schemas that the format refers to, directly or through other schemas. The keys are JSON pointers. */
function targetsOf(format: JsonObject): ReadonlyMap<string, unknown> {
  const targets = new Map<string, unknown>();
  const collect = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, member] of Object.entries(value)) {
      if (value === format && DEFINITIONS.has(key)) continue;
      if (key !== "$ref" || typeof member !== "string") collect(member);
      else if (!targets.has(member)) {
        const target = resolved(format, member);
        if (target !== undefined) targets.set(member, target);
      }
    }
  };
  collect(format);
  // This loop also visits the entries that `collect` adds to the map. It replaces a recursion, which could overflow the
  // stack if a chain of references is long.
  for (const target of targets.values()) collect(target);
  return targets;
}

/** Returns the schema at a JSON pointer within the format, or undefined if there is none. */
function resolved(format: JsonObject, ref: string): unknown {
  if (ref !== "#" && !ref.startsWith("#/")) return undefined;
  let value: unknown = format;
  for (const segment of ref.split("/").slice(1)) {
    const key = unescaped(segment);
    if (typeof value !== "object" || value === null || key === undefined || !Object.hasOwn(value, key))
      return undefined;
    value = (value as JsonObject)[key];
  }
  return isObject(value) || typeof value === "boolean" ? value : undefined;
}

function unescaped(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return undefined;
  }
}

/**
 * Returns a unique name for each pointer: the schema's title or the last segment of the pointer, with a number if
 * necessary.
 */
function proposedNames(targets: ReadonlyMap<string, unknown>): ReadonlyMap<string, string> {
  const used = new Map<string, number>();
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const [ref, target] of targets) {
    const title = isObject(target) && typeof target.title === "string" ? target.title : "";
    const base = (title || ref.slice(ref.lastIndexOf("/") + 1)).replaceAll(/[^A-Za-z0-9._-]/g, "_") || "Schema";
    let number = used.get(base) ?? 1;
    let name = base;
    while (taken.has(name)) name = `${base}_${++number}`;
    used.set(base, number);
    taken.add(name);
    names.set(ref, name);
  }
  return names;
}

function contentsOf(
  format: JsonObject,
  targets: ReadonlyMap<string, unknown>,
  names: ReadonlyMap<string, string>,
): ReadonlyMap<string, unknown> {
  return new Map([...targets].map(([ref, target]) => [names.get(ref) ?? ref, withRefs(target, format, names)]));
}

function joined(first: ReadonlyMap<string, string>, second: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  return new Map([...first].map(([key, name]) => [key, second.get(name) ?? name]));
}

function withRefs(value: unknown, format: JsonObject, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => withRefs(item, format, names));
  if (!isObject(value)) return value;
  const members: [string, unknown][] = [];
  for (const [key, member] of Object.entries(value)) {
    if (value === format && DEFINITIONS.has(key)) continue;
    if (key !== "$ref" || typeof member !== "string") members.push([key, withRefs(member, format, names)]);
    else {
      const name = names.get(member);
      if (name !== undefined) members.push([key, `#/components/schemas/${name}`]);
    }
  }
  return Object.fromEntries(members);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
