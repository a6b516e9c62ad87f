/**
 * Encodes a name as a segment of the path. Browsers remove the segments `.` and `..`, even if they are percent-encoded,
 * so these get a tilde as prefix. A name that begins with a tilde gets one too, so that decoding is unambiguous.
 */
export function toSegment(name: string): string {
  return name === "." || name === ".." || name.startsWith("~") ? `~${name}` : name;
}

export function fromSegment(segment: string): string {
  return segment.startsWith("~") ? segment.slice(1) : segment;
}
