// Readers for the formats that functions register, which are not guaranteed to be valid JSON Schemas.

export function propertyOf(schema: unknown, name: string): unknown {
  const properties = propertiesOf(schema);
  return Object.hasOwn(properties, name) ? properties[name] : undefined;
}

export function propertiesOf(schema: unknown): Readonly<Record<string, unknown>> {
  if (typeof schema !== "object" || schema === null || !Object.hasOwn(schema, "properties")) return {};
  const { properties } = schema as { readonly properties: unknown };
  if (typeof properties !== "object" || properties === null || Array.isArray(properties)) return {};
  return Object.fromEntries(Object.entries(properties).filter(([, each]) => isSchema(each)));
}

export function isRequired(schema: unknown, name: string): boolean {
  const required = (schema as { readonly required?: unknown } | undefined)?.required;
  return Array.isArray(required) && required.includes(name);
}

export function isSchema(value: unknown): boolean {
  return typeof value === "boolean" || (typeof value === "object" && value !== null && !Array.isArray(value));
}

/** Returns the keyword's value if it is a string. */
export function textIn(schema: unknown, keyword: string): string | undefined {
  if (typeof schema !== "object" || schema === null || !Object.hasOwn(schema, keyword)) return undefined;
  const value = (schema as Readonly<Record<string, unknown>>)[keyword];
  return typeof value === "string" ? value : undefined;
}
