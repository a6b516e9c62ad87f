/**
 * Position within a value. A string names one member of the root (`"a.b"` is a member with a dot, `""` the root
 * itself). An array is a path with one member per segment.
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
  /** Adds the whole number `by`. A missing member counts as 0. */
  | { readonly type: "increment"; readonly path: UpdatePath; readonly by: number }
  | { readonly type: "decrement"; readonly path: UpdatePath; readonly by: number }
  /** Appends `value` to an array, or a string to a string. A missing member becomes `[value]`, or the string. */
  | { readonly type: "append"; readonly path?: UpdatePath | undefined; readonly value: unknown }
  /** Removes the member. The root becomes null. */
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
