import { type ObjectSchema, objectSchema, type Schema } from "./object-schema.ts";

/**
 * Input schema of a tool, which must be the schema of an object, and the conversion of an input to the function's
 * payload.
 */
export interface ToolInput {
  readonly schema: ObjectSchema["schema"];
  payloadOf(input: Schema): unknown;
}

/** Name of the member that contains the payload if the payload is not an object. */
const PAYLOAD_MEMBER = "payload";

/**
 * Returns the input of a function's tool. If the function has no format, the tool accepts any object. If the function's
 * payload is not an object, it is the member `payload` of the input.
 */
export function toolInput(format: unknown): ToolInput {
  if (format === null || format === undefined) return { schema: { type: "object" }, payloadOf: (input) => input };
  const { schema, isWrapped } = objectSchema(format, PAYLOAD_MEMBER);
  return { schema, payloadOf: (input) => (isWrapped ? input[PAYLOAD_MEMBER] : input) };
}
