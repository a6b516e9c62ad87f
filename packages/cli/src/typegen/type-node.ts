/** A type that TypeScript and Python can express. */
export type TypeNode =
  | { readonly kind: "unknown" /** Reason why the type is unknown. */; readonly note?: string | undefined }
  | { readonly kind: "scalar"; readonly name: "string" | "number" | "integer" | "boolean" | "null" }
  | { readonly kind: "literal"; readonly values: readonly (string | number | boolean | null)[] }
  | { readonly kind: "array"; readonly items: TypeNode }
  | { readonly kind: "map"; readonly values: TypeNode }
  | ObjectNode
  | { readonly kind: "union"; readonly options: readonly TypeNode[] }
  /** Refers to a definition in the same format. */
  | { readonly kind: "reference"; readonly name: string };

export interface ObjectNode {
  readonly kind: "object";
  readonly members: readonly Member[];
  /** True if the format explicitly allows other members. */
  readonly open: boolean;
}

export interface Member {
  readonly name: string;
  readonly type: TypeNode;
  readonly required: boolean;
  readonly description: string | undefined;
}

/** Types of a format: the root and its definitions by name. `ROOT` is the root itself. */
export interface FormatTypes {
  readonly root: TypeNode;
  readonly definitions: ReadonlyMap<string, TypeNode>;
}

/** Name of the root of the format in references. */
export const ROOT = "";

export function unknown(note?: string): TypeNode {
  return { kind: "unknown", note };
}

/** Returns a union of the options without duplicates. If an option is unknown, the union is unknown. */
export function union(options: readonly TypeNode[]): TypeNode {
  const flat = options.flatMap((option) => (option.kind === "union" ? option.options : [option]));
  const anything = flat.find(({ kind }) => kind === "unknown");
  if (anything !== undefined) return anything;
  const distinct = [...new Map(flat.map((option) => [JSON.stringify(option), option])).values()];
  const [only] = distinct;
  return distinct.length === 1 && only !== undefined
    ? only
    : distinct.length === 0
      ? unknown()
      : { kind: "union", options: distinct };
}

/** Returns true for an object type that only requires members of any type. */
export function onlyRequires({ members, open }: ObjectNode): boolean {
  return open && members.every(({ type, required }) => required && type.kind === "unknown" && type.note === undefined);
}
