import { formatJson, isBigNumber, type JsonValue } from "../../../lib/json.ts";

export interface Difference {
  /** Path of the member, for example `$.items[2].name`. */
  readonly path: string;
  readonly kind: "added" | "removed" | "changed";
  /** Value as JSON. */
  readonly before?: string;
  readonly after?: string;
}

const MAX_DIFFERENCES = 500;

/** Returns the differences between two JSON values, at most 500. Members are compared by name, items by index. */
export function jsonDiff(before: JsonValue | undefined, after: JsonValue | undefined): readonly Difference[] {
  const found: Difference[] = [];
  compare(before, after, "$", found);
  return found;
}

function compare(before: JsonValue | undefined, after: JsonValue | undefined, path: string, found: Difference[]): void {
  if (found.length >= MAX_DIFFERENCES) return;
  if (before === undefined || after === undefined) {
    if (after !== undefined) found.push({ path, kind: "added", after: formatJson(after, 0) });
    else if (before !== undefined) found.push({ path, kind: "removed", before: formatJson(before, 0) });
    return;
  }
  const members = membersOf(before);
  const others = membersOf(after);
  if (members === undefined || others === undefined || Array.isArray(before) !== Array.isArray(after)) {
    const texts = [formatJson(before, 0), formatJson(after, 0)] as const;
    if (texts[0] !== texts[1]) found.push({ path, kind: "changed", before: texts[0], after: texts[1] });
    return;
  }
  const step = (name: string): string =>
    Array.isArray(before)
      ? `${path}[${name}]`
      : /^[\w$]+$/.test(name)
        ? `${path}.${name}`
        : `${path}[${JSON.stringify(name)}]`;
  for (const name of new Set([...members.keys(), ...others.keys()]))
    compare(members.get(name), others.get(name), step(name), found);
}

function membersOf(value: JsonValue): ReadonlyMap<string, JsonValue> | undefined {
  return typeof value !== "object" || value === null || isBigNumber(value) ? undefined : new Map(Object.entries(value));
}
