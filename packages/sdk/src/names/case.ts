/** Converts a name on the wire to a TypeScript name: `old_value` becomes `oldValue`. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
}

/** Converts a TypeScript name to a name on the wire: `ifVersion` becomes `if_version`. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
