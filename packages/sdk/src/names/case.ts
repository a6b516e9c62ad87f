/** Returns the name in TypeScript of a name on the wire: `old_value` becomes `oldValue`. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
}

/** Returns the name on the wire of a name in TypeScript: `ifVersion` becomes `if_version`. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
