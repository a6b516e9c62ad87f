import { type FormatTypes, type Member, type ObjectNode, onlyRequires, ROOT, type TypeNode } from "./type-node.ts";
import { nameOf, type TypedFunction, uniqueName } from "./typed-function.ts";

/** Returns a Python module with typed calls of the SDK. The module requires Python 3.10. */
export function pythonTypes(functions: readonly TypedFunction[], header: readonly string[]): string {
  const taken = new Set(RESERVED_NAMES);
  const declarations: string[] = [];
  const calls: { readonly request: string; readonly result: string; readonly function: TypedFunction }[] = [];
  for (const one of functions) {
    const named = (suffix: string, format: FormatTypes | undefined): string => {
      if (format === undefined) return "Any";
      const name = uniqueName(`${one.name}${suffix}`, taken);
      declarations.push(...new Declarations(name, format, taken).texts);
      return name;
    };
    const payload = named("Payload", one.payload);
    const result = named("Result", one.result);
    const request = uniqueName(`${one.name}Call`, taken);
    const base = one.payload === undefined ? "_CallOfAnything" : "_Call";
    const payloadLine = one.payload === undefined ? "" : `    payload: ${payload}\n`;
    declarations.push(`class ${request}(${base}):\n    function_id: Literal[${literal(one.id)}]\n${payloadLine}`);
    calls.push({ request, result, function: one });
  }
  const overload = calls.length > 1 ? "    @overload\n" : "";
  const methods = ["def call", "async def call_async"].flatMap((method) =>
    calls.map(
      ({ request, result, function: { description, differs } }) =>
        `${noteLines([...(method === "def call" && description !== undefined ? [description] : []), ...(differs ? [DIFFERS] : [])], "    ")}${overload}    ${method}(self, request: ${request}) -> ${result}: ...\n`,
    ),
  );
  // Import and declare only what is used, because strict type checkers report unused imports and private classes.
  const imports = [
    "Any",
    "Literal",
    "Protocol",
    ...(declarations.some((text) => text.includes(`: ${ALIAS} = `)) ? [ALIAS] : []),
    "TypedDict",
    "cast",
    ...(calls.length > 1 ? ["overload"] : []),
  ];
  const hasUntyped = functions.some(({ payload }) => payload === undefined);
  return [
    header.map((line) => `# ${line}\n`).join(""),
    "from __future__ import annotations\n",
    `from typing import ${imports.join(", ")}\n`,
    "import svc\n",
    "",
    "class _Call(TypedDict, total=False):\n    timeout_ms: int\n    metadata: Any\n",
    "",
    ...(hasUntyped ? ["class _CallOfAnything(_Call, total=False):\n    payload: Any\n", ""] : []),
    ...declarations.flatMap((text) => [text, ""]),
    `class Functions(Protocol):\n    """Calls of a worker, by function."""\n\n${methods.length === 0 ? "    pass\n" : methods.join("")}`,
    "",
    "def functions(caller: svc.Worker | svc.HandlerContext) -> Functions:\n" +
      '    """Return the same worker or context with typed calls."""\n' +
      "    return cast(Functions, caller)\n",
  ].join("\n");
}

const DIFFERS = "Its workers register different formats; these are those of the first one.";
const ALIAS = "TypeAlias";
const RESERVED_NAMES = ["Functions", "Any", "Literal", "Protocol", ALIAS, "TypedDict"];
const KEYWORDS = new Set(
  "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(
    " ",
  ),
);

/**
 * Declares the types of one format. Each object needs a class of its own. The classes may be in any order, because
 * Python evaluates annotations only when they are needed.
 */
class Declarations {
  readonly texts: string[] = [];
  readonly #taken: Set<string>;
  readonly #names: ReadonlyMap<string, string>;

  constructor(name: string, { root, definitions }: FormatTypes, taken: Set<string>) {
    this.#taken = taken;
    this.#names = new Map(
      [...definitions.keys()].map((key) => [key, key === ROOT ? name : uniqueName(`${name}${nameOf(key)}`, taken)]),
    );
    for (const [key, node] of definitions) if (key !== ROOT) this.#declare(this.#names.get(key) ?? key, node);
    this.#declare(name, root);
  }

  #declare(name: string, node: TypeNode): void {
    if (node.kind === "object" && !isAnyObject(node)) this.#object(name, node);
    else this.texts.push(`${name}: ${ALIAS} = ${literal(this.#text(node, name))}${noteOf(node)}\n`);
  }

  #object(name: string, { members, open }: ObjectNode): void {
    const typed = members.map((member) => ({
      ...member,
      text: this.#text(member.type, `${name}${nameOf(member.name)}`),
    }));
    const required = typed.filter((member) => member.required);
    const optional = typed.filter((member) => !member.required);
    const note = open ? "    # Other members are allowed, which a TypedDict cannot express.\n" : "";
    if (required.length === 0 || optional.length === 0) {
      this.texts.push(typedDict(name, "TypedDict", typed, { total: optional.length === 0, note }));
      return;
    }
    const base = uniqueName(`_${name}`, this.#taken);
    this.texts.push(typedDict(base, "TypedDict", required, { total: true, note: "" }));
    if (optional.every(isPlain)) this.texts.push(typedDict(name, base, optional, { total: false, note }));
    else {
      const other = uniqueName(`_${name}Optional`, this.#taken);
      this.texts.push(
        typedDict(other, "TypedDict", optional, { total: false, note: "" }),
        `class ${name}(${base}, ${other}):\n${note}    pass\n`,
      );
    }
  }

  /** Returns the type expression of a node. `name` is the name for the class of a nested object. */
  #text(node: TypeNode, name: string): string {
    switch (node.kind) {
      case "unknown":
        return "Any";
      case "scalar":
        return SCALARS[node.name];
      case "literal":
        return node.values.some((value) => typeof value === "number" && !Number.isSafeInteger(value))
          ? [...new Set(node.values.map(typeOfLiteral))].join(" | ")
          : `Literal[${node.values.map(literalValue).join(", ")}]`;
      case "array":
        return `list[${this.#text(node.items, `${name}Item`)}]`;
      case "map":
        return `dict[str, ${this.#text(node.values, `${name}Value`)}]`;
      case "union":
        return node.options
          .map((option, index) => this.#text(option, index === 0 ? name : `${name}${index + 1}`))
          .join(" | ");
      case "reference":
        return this.#names.get(node.name) ?? "Any";
      case "object": {
        if (isAnyObject(node)) return "dict[str, Any]";
        const own = uniqueName(name, this.#taken);
        this.#object(own, node);
        return own;
      }
    }
  }
}

const SCALARS = { string: "str", number: "float", integer: "int", boolean: "bool", null: "None" } as const;

interface TypedMember extends Member {
  readonly text: string;
}

/** Declares a TypedDict as a class. Uses the functional syntax if the name of a member is not a valid identifier. */
function typedDict(
  name: string,
  base: string,
  members: readonly TypedMember[],
  { total, note }: { readonly total: boolean; readonly note: string },
): string {
  if (members.every(isPlain)) {
    const lines = members.map(
      ({ name: key, text, type, description }) =>
        `${noteLines(description === undefined ? [] : [description], "    ")}    ${key}: ${text}${noteOf(type)}\n`,
    );
    return `class ${name}(${base}${total ? "" : ", total=False"}):\n${note}${lines.join("")}`;
  }
  const pairs = members.map(({ name: key, text }) => `    ${literal(key)}: ${literal(text)},\n`);
  return `${name} = TypedDict(${literal(name)}, {\n${pairs.join("")}}${total ? "" : ", total=False"})\n`;
}

function isPlain({ name }: Member): boolean {
  // Names with two leading underscores are excluded, because a class would mangle them.
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !name.startsWith("__") && !KEYWORDS.has(name);
}

function noteOf(node: TypeNode): string {
  return node.kind === "unknown" && node.note !== undefined ? `  # ${oneLine(node.note)}` : "";
}

function noteLines(notes: readonly string[], indent: string): string {
  return notes.map((note) => `${indent}# ${oneLine(note)}\n`).join("");
}

/**
 * Puts a text on one line, and changes words with a meaning for type checkers, e.g. `# type: ignore`. A worker's text
 * must not contain them.
 */
function oneLine(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ")
    .trim()
    .replaceAll(/(^|#)(\s*(?:type|mypy|pyright|ruff|noqa|fmt))\s*:/gi, "$1$2 :");
}

/** Returns true for an object that is declared as a dict, because a TypedDict would reject its other members. */
function isAnyObject(node: ObjectNode): boolean {
  return node.members.length === 0 || onlyRequires(node);
}

/** Returns a Python string. A JSON string is one too, except for lone surrogates, which ids cannot contain. */
function literal(text: string): string {
  return JSON.stringify(text);
}

function literalValue(value: string | number | boolean | null): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  return JSON.stringify(value);
}

function typeOfLiteral(value: string | number | boolean | null): string {
  if (value === null) return "None";
  return typeof value === "number" ? "float" : typeof value === "boolean" ? "bool" : "str";
}
