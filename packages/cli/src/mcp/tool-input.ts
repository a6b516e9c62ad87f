import { type ObjectSchema, objectSchema, type Schema } from "./object-schema.ts";

/** Input schema of a tool, which must be an object, and the conversion to the function's payload. */
export interface ToolInput {
  readonly schema: ObjectSchema["schema"];
  payloadOf(input: Schema): unknown;
}

/** Member that holds a payload that is not an object. */
const PAYLOAD_MEMBER = "payload";

/**
 * Returns the input of a function's tool. Without a format the tool takes any object. A function that takes something
 * other than an object gets it as `payload`.
 */
export function toolInput(format: unknown): ToolInput {
  if (format === null || format === undefined) return { schema: { type: "object" }, payloadOf: (input) => input };
  const { schema, isWrapped } = objectSchema(format, PAYLOAD_MEMBER);
  return { schema, payloadOf: (input) => (isWrapped ? input[PAYLOAD_MEMBER] : input) };
}
