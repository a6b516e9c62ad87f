/**
 * Encodes a name as a segment of the path. Browsers interpret `.` and `..` however they are escaped, so these get a
 * tilde prefix, and so does everything that starts with a tilde.
 */
export function toSegment(name: string): string {
  return name === "." || name === ".." || name.startsWith("~") ? `~${name}` : name;
}

export function fromSegment(segment: string): string {
  return segment.startsWith("~") ? segment.slice(1) : segment;
}
