// The interfaces of https://standardschema.dev, which zod, valibot, arktype and others implement.

/** A schema of any library that implements Standard Schema. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": StandardProperties<Input, Output>;
}

interface StandardProperties<Input, Output> {
  readonly version: 1;
  readonly vendor: string;
  readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
  /** Standard JSON Schema. Absent in libraries that do not implement it. */
  readonly jsonSchema?: StandardJsonSchema | undefined;
}

interface StandardJsonSchema {
  readonly input: (options: StandardJsonSchemaOptions) => Record<string, unknown>;
  readonly output: (options: StandardJsonSchemaOptions) => Record<string, unknown>;
}

export interface StandardJsonSchemaOptions {
  readonly target: string;
  readonly libraryOptions?: Record<string, unknown> | undefined;
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Type of the values that a schema accepts. */
export type InputOf<Schema extends StandardSchema> = NonNullable<Schema["~standard"]["types"]>["input"];
/** Type of the values that a schema returns. */
export type OutputOf<Schema extends StandardSchema> = NonNullable<Schema["~standard"]["types"]>["output"];

/**
 * Returns true if the value is a Standard Schema. It may be a function, because schemas of some libraries are
 * functions.
 */
export function isStandardSchema(value: unknown): value is StandardSchema {
  return ((typeof value === "object" && value !== null) || typeof value === "function") && "~standard" in value;
}
