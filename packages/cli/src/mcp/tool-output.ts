import type { JsonSchemaType } from "@modelcontextprotocol/sdk/validation";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv";
import { isSchema, type ObjectSchema, objectSchema } from "./object-schema.ts";

export type Structured = Readonly<Record<string, unknown>>;

/** Output schema of a tool, which must be an object, and the conversion of a function's result to it. */
export interface ToolOutput {
  /** Undefined: the tool declares none. */
  readonly schema: ObjectSchema["schema"] | undefined;
  /** Returns the structured content of a result, or how it differs from the schema: clients reject such content. */
  contentOf(result: unknown): { readonly content: Structured } | { readonly problem: string };
}

/** Member that holds a result that is not an object. */
const RESULT_MEMBER = "result";

const UNDECLARED: ToolOutput = {
  schema: undefined,
  contentOf: (result) => ({ content: isSchema(result) ? result : { [RESULT_MEMBER]: result } }),
};

/** Returns the output of a function's tool. A format that is no valid JSON Schema counts as missing. */
export function toolOutput(format: unknown): ToolOutput {
  if (format === null || format === undefined) return UNDECLARED;
  const { schema: declared, isWrapped } = objectSchema(format, RESULT_MEMBER);
  // Clients compile the schemas of all tools together, and reject two with one id.
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
