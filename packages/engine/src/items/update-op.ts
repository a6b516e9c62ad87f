/**
 * A path into a value: a text is one literal member of the root (`"a.b"` is a member with a dot, `""` the root itself), an array leads deeper,
 * one member a segment (`[]` is the root).
 */
export type UpdatePath = string | readonly string[];

/** What an operation carries. */
export interface OpValue {
  readonly value: unknown;
  /** JSON of `value`, there when `value` has not all the digits of its numbers. */
  readonly json?: string;
}

/** One operation of `state::update` and `stream::update`, as capabilities 7.3 has them; `path` may be an array everywhere. */
export type UpdateOp =
  | ({ readonly type: "set"; readonly path: UpdatePath } & OpValue)
  | ({ readonly type: "merge"; readonly path: UpdatePath } & OpValue)
  | { readonly type: "increment"; readonly path: UpdatePath; readonly by: number }
  | { readonly type: "decrement"; readonly path: UpdatePath; readonly by: number }
  | ({ readonly type: "append"; readonly path: UpdatePath } & OpValue)
  | { readonly type: "remove"; readonly path: UpdatePath };

/** Why one operation was not done. Codes and messages: capabilities 7.3. */
export interface UpdateOpError {
  readonly op_index: number;
  /** E.g. `increment.not_number`. */
  readonly code: string;
  readonly message: string;
}

/** Operations as JSON, with all digits of the numbers that they bring. */
export function opsJson(ops: readonly UpdateOp[]): string {
  return `[${ops.map(opJson).join(",")}]`;
}

function opJson(op: UpdateOp): string {
  if (!("value" in op) || op.json === undefined) return JSON.stringify(op);
  const { value: _, json, ...others } = op;
  return `${JSON.stringify(others).slice(0, -1)},"value":${json}}`;
}
