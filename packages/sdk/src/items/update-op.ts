/**
 * Position within a value. A string is the name of one member of the root: `"a.b"` is a member whose name contains a
 * dot, and `""` is the root itself. An array is a path, with one name per level.
 */
export type UpdatePath = string | readonly string[];

/** One operation of `update`. The operations of one update are applied atomically. */
export type UpdateOp =
  /** Sets the member to `value` (default null). */
  | { readonly type: "set"; readonly path: UpdatePath; readonly value?: unknown }
  /**
   * Copies the members of `value` into the object at `path` (default: the root). Creates the object if it is missing.
   */
  | {
      readonly type: "merge";
      readonly path?: UpdatePath | undefined;
      readonly value: Readonly<Record<string, unknown>>;
    }
  /** Adds `by` to a number. `by` is a whole number. A missing member counts as 0. */
  | { readonly type: "increment"; readonly path: UpdatePath; readonly by: number }
  | { readonly type: "decrement"; readonly path: UpdatePath; readonly by: number }
  /**
   * Appends `value` to an array, or a string to a string. If the member is missing, it is created: as `[value]`, or as
   * the string if `value` is a string.
   */
  | { readonly type: "append"; readonly path?: UpdatePath | undefined; readonly value: unknown }
  /** Removes the member. If the path is the root, the root becomes null. */
  | { readonly type: "remove"; readonly path: UpdatePath };

/** Why one operation failed. */
export interface UpdateOpError {
  readonly opIndex: number;
  /** E.g. `increment.not_number`. */
  readonly code: string;
  readonly message: string;
  /** @deprecated Use `opIndex`. */
  readonly op_index: number;
}
