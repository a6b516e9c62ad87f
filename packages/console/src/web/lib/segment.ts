/**
 * A name of any text as a part of the address. Browsers take the parts `.` and `..` for directions, however they are escaped, so these are written with a
 * tilde before them, and so is what begins with one.
 */
export function toSegment(name: string): string {
  return name === "." || name === ".." || name.startsWith("~") ? `~${name}` : name;
}

export function fromSegment(segment: string): string {
  return segment.startsWith("~") ? segment.slice(1) : segment;
}
