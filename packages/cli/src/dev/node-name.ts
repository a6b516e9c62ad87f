/** Returns the name of a node of `svc dev --cluster`: `a`, `b`, and so on. */
export function nodeName(at: number): string {
  return String.fromCharCode("a".charCodeAt(0) + at);
}
