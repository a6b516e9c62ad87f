import { type FormatTypes, ROOT, type TypeNode } from "./type-node.ts";
import { nameOf, type TypedFunction, uniqueName } from "./typed-function.ts";

/** Returns a TypeScript module that adds the types of functions to the SDK's calls. */
export function typescriptTypes(functions: readonly TypedFunction[], header: readonly string[]): string {
  const taken = new Set<string>();
  const declarations: string[] = [];
  const entries: string[] = [];
  for (const { id, name, description, payload, result, differs } of functions) {
    const parts = [
      ["payload", "Payload", payload],
      ["result", "Result", result],
    ] as const;
    const members = parts.flatMap(([member, suffix, format]) => {
      if (format === undefined) return [];
      const typeName = uniqueName(`${name}${suffix}`, taken);
      declarations.push(...declared(typeName, format, taken));
      return [`${member}: ${typeName}`];
    });
    const notes = [
      ...(description === undefined ? [] : [description]),
      ...(differs ? ["Its workers register different formats; these are those of the first one."] : []),
    ];
    entries.push(`${docComment(notes.join("\n"), "    ")}    ${JSON.stringify(id)}: { ${members.join("; ")} };\n`);
  }
  return [
    header.map((line) => `// ${line}\n`).join(""),
    `import type {} from "@svc-runtime/sdk";\n`,
    ...declarations,
    `declare module "@svc-runtime/sdk" {\n  interface Functions {\n${entries.join("")}  }\n}\n`,
  ].join("\n");
}

function declared(name: string, { root, definitions }: FormatTypes, taken: Set<string>): readonly string[] {
  const names = new Map(
    [...definitions.keys()].map((key) => [key, key === ROOT ? name : uniqueName(`${name}${nameOf(key)}`, taken)]),
  );
  const declaration = (typeName: string, node: TypeNode): string =>
    `export type ${typeName} = ${text(node, names, "")};\n`;
  const inner = [...definitions]
    .filter(([key]) => key !== ROOT)
    .map(([key, node]) => declaration(names.get(key) ?? key, node));
  return [declaration(name, root), ...inner];
}

function text(node: TypeNode, names: ReadonlyMap<string, string>, indent: string): string {
  switch (node.kind) {
    case "unknown":
      return node.note === undefined ? "unknown" : `unknown /* ${safe(node.note)} */`;
    case "scalar":
      return node.name === "integer" ? "number" : node.name;
    case "literal":
      return node.values.map((value) => JSON.stringify(value)).join(" | ");
    case "array":
      return `Array<${text(node.items, names, indent)}>`;
    case "map":
      // Use an object type and not a Record, because a type alias may refer to itself only in an object type.
      return node.values.kind === "unknown"
        ? `Record<string, ${text(node.values, names, indent)}>`
        : `{ [member: string]: ${text(node.values, names, indent)} }`;
    case "union":
      return node.options.map((option) => text(option, names, indent)).join(" | ");
    case "reference":
      return names.get(node.name) ?? "unknown";
    case "object":
      return objectType(node, names, indent);
  }
}

function objectType(
  { members, open }: Extract<TypeNode, { kind: "object" }>,
  names: ReadonlyMap<string, string>,
  indent: string,
): string {
  if (members.length === 0 && !open) return "Record<string, never>";
  const inner = `${indent}  `;
  const lines = members.map(({ name, type, required, description }) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
    return `${docComment(description ?? "", inner)}${inner}${key}${required ? "" : "?"}: ${text(type, names, inner)};\n`;
  });
  return `{\n${lines.join("")}${open ? `${inner}[member: string]: unknown;\n` : ""}${indent}}`;
}

function docComment(note: string, indent: string): string {
  const lines = safe(note)
    .split(/[\r\n\u2028\u2029]+/)
    .filter((line) => line.trim() !== "");
  if (lines.length === 0) return "";
  return lines.length === 1
    ? `${indent}/** ${lines[0]} */\n`
    : `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join("")}${indent} */\n`;
}

/** Makes a worker's text safe for a comment: it must not end the comment or contain compiler directives. */
function safe(note: string): string {
  return note.replaceAll("*/", "*\\/").replaceAll("@ts-", "@ ts-");
}
