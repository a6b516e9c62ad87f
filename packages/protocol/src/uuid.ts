const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Whether the text is a UUID of any version in its 36-character form. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}
