/** A type as both languages can write it. */
export type TypeNode =
  | { readonly kind: "unknown" /** Why no more is known, where the format says more than can be told. */; readonly remark?: string | undefined }
  | { readonly kind: "scalar"; readonly name: "string" | "number" | "integer" | "boolean" | "null" }
  | { readonly kind: "literal"; readonly values: readonly (string | number | boolean | null)[] }
  | { readonly kind: "array"; readonly items: TypeNode }
  | { readonly kind: "map"; readonly values: TypeNode }
  | ObjectNode
  | { readonly kind: "union"; readonly options: readonly TypeNode[] }
  /** A definition of the same format. */
  | { readonly kind: "reference"; readonly name: string };

export interface ObjectNode {
  readonly kind: "object";
  readonly members: readonly Member[];
  /** Members besides these are allowed, by the format's own word. */
  readonly open: boolean;
}

export interface Member {
  readonly name: string;
  readonly type: TypeNode;
  readonly required: boolean;
  readonly description: string | undefined;
}

/** A format as types: the root and what it refers to, by name. `ROOT` is the root itself. */
export interface FormatTypes {
  readonly root: TypeNode;
  readonly definitions: ReadonlyMap<string, TypeNode>;
}

/** The name by which a format refers to itself. */
export const ROOT = "";

export function unknown(remark?: string): TypeNode {
  return { kind: "unknown", remark };
}

/** Equal options count once; a union with unknown is unknown. */
export function union(options: readonly TypeNode[]): TypeNode {
  const flat = options.flatMap((option) => (option.kind === "union" ? option.options : [option]));
  const anything = flat.find(({ kind }) => kind === "unknown");
  if (anything !== undefined) return anything;
  const distinct = [...new Map(flat.map((option) => [JSON.stringify(option), option])).values()];
  const [only] = distinct;
  return distinct.length === 1 && only !== undefined ? only : distinct.length === 0 ? unknown() : { kind: "union", options: distinct };
}

/** Any block that has certain members, whatever they are. */
export function onlyRequires({ members, open }: ObjectNode): boolean {
  return open && members.every(({ type, required }) => required && type.kind === "unknown" && type.remark === undefined);
}
