/**
 * Where in a value: a text names one member of the root (`"a.b"` is a member with a dot, `""` the root itself); an array leads deeper,
 * one member a segment.
 */
export type UpdatePath = string | readonly string[];

/** One operation of `update`. Those of one update take effect together, without anything of another writer between them. */
export type UpdateOp =
  /** Puts `value` (default null) there. */
  | { readonly type: "set"; readonly path: UpdatePath; readonly value?: unknown }
  /** Puts the members of `value` into the object there (default path: the root), which is made where there is none. */
  | { readonly type: "merge"; readonly path?: UpdatePath | undefined; readonly value: Readonly<Record<string, unknown>> }
  /** Adds the whole number `by`; what is missing counts as 0. */
  | { readonly type: "increment"; readonly path: UpdatePath; readonly by: number }
  | { readonly type: "decrement"; readonly path: UpdatePath; readonly by: number }
  /** Adds `value` at the end of an array, or a text at the end of a text; what is missing becomes `[value]`, or the text. */
  | { readonly type: "append"; readonly path?: UpdatePath | undefined; readonly value: unknown }
  /** Removes the member; the root becomes null. */
  | { readonly type: "remove"; readonly path: UpdatePath };

/** Why one operation was not done. */
export interface UpdateOpError {
  readonly op_index: number;
  /** E.g. `increment.not_number`. */
  readonly code: string;
  readonly message: string;
}
