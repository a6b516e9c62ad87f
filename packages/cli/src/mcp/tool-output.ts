import type { JsonSchemaType } from "@modelcontextprotocol/sdk/validation";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv";
import { isSchema, type ObjectSchema, objectSchema } from "./object-schema.ts";

export type Structured = Readonly<Record<string, unknown>>;

/**
 * Output schema of a tool, which must be the schema of an object, and the conversion of the function's result to such
 * an object.
 */
export interface ToolOutput {
  /** Undefined if the tool declares no output schema. */
  readonly schema: ObjectSchema["schema"] | undefined;
  /**
   * Returns the structured content of a result. If it does not match the schema, returns how it differs, because
   * clients reject such content.
   */
  contentOf(result: unknown): { readonly content: Structured } | { readonly problem: string };
}

/** Name of the member that contains the result if the result is not an object. */
const RESULT_MEMBER = "result";

const UNDECLARED: ToolOutput = {
  schema: undefined,
  contentOf: (result) => ({ content: isSchema(result) ? result : { [RESULT_MEMBER]: result } }),
};

/** Returns the output of a function's tool. A format that is not a valid JSON Schema is treated like a missing one. */
export function toolOutput(format: unknown): ToolOutput {
  if (format === null || format === undefined) return UNDECLARED;
  const { schema: declared, isWrapped } = objectSchema(format, RESULT_MEMBER);
  // Remove `$id`: clients compile the schemas of all tools together, and reject two schemas with the same id.
  const { $id: _, ...schema } = declared;
  try {
    const check = new AjvJsonSchemaValidator().getValidator<Structured>(schema as JsonSchemaType);
    return {
      schema: { ...schema, type: "object" },
      contentOf(result) {
        const content = isWrapped ? { [RESULT_MEMBER]: result } : result;
        const { valid, errorMessage } = check(content);
        return valid ? { content: content as Structured } : { problem: errorMessage ?? "it does not match" };
      },
    };
  } catch {
    return UNDECLARED;
  }
}
