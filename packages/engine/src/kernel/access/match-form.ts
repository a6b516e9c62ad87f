const MATCH = /^match\((?:"([^"]*)"|'([^']*)')\)$/;

/** The pattern of `match("pat")` or `match('pat')`; undefined for any other text. */
export function patternOfMatch(text: string): string | undefined {
  const found = MATCH.exec(text.trim());
  return found === null ? undefined : (found[1] ?? found[2]);
}
