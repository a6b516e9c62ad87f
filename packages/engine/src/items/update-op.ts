/**
 * A path into a value: a text is one literal member of the root (`"a.b"` is a member with a dot, `""` the root itself), an array leads deeper,
 * one member a segment (`[]` is the root).
 */
export type UpdatePath = string | readonly string[];

/** One operation of `state::update` and `stream::update`, as capabilities 7.3 has them; `path` may be an array everywhere. Values are JSON, in which `ExactNumber` may stand for a number (`parseExact`). */
export type UpdateOp =
  | { readonly type: "set"; readonly path: UpdatePath; readonly value: unknown }
  | { readonly type: "merge"; readonly path: UpdatePath; readonly value: unknown }
  | { readonly type: "increment"; readonly path: UpdatePath; readonly by: number }
  | { readonly type: "decrement"; readonly path: UpdatePath; readonly by: number }
  | { readonly type: "append"; readonly path: UpdatePath; readonly value: unknown }
  | { readonly type: "remove"; readonly path: UpdatePath };

/** Why one operation was not done. Codes and messages: capabilities 7.3. */
export interface UpdateOpError {
  readonly op_index: number;
  /** E.g. `increment.not_number`. */
  readonly code: string;
  readonly message: string;
}
