import { compileGlob } from "@svc/protocol";
import { patternOfMatch } from "./match-form.ts";
import type { ExposeSetting } from "./settings.ts";

/** True when the rule exposes the function. `metadata` is asked only by rules that look at it. */
export type ExposeRule = (id: string, metadata: () => unknown) => boolean;

/** One rule of `expose_functions`. Throws TypeError for a text that is no `match("…")`. */
export function compileExposeRule(setting: ExposeSetting): ExposeRule {
  if (typeof setting === "string") {
    const pattern = patternOfMatch(setting);
    if (pattern === undefined) throw new TypeError(`${JSON.stringify(setting)} is not match("pattern")`);
    const matches = compileGlob(pattern);
    return (id) => matches(id);
  }
  const wanted = Object.entries(setting.metadata).map(([key, value]) => [key, compileValue(value)] as const);
  return (_id, metadata) => {
    const found = metadata();
    // A rule without keys would be met by everything, which nobody means.
    if (wanted.length === 0 || typeof found !== "object" || found === null) return false;
    return wanted.every(([key, fits]) => Object.hasOwn(found, key) && fits((found as Readonly<Record<string, unknown>>)[key]));
  };
}

function compileValue(wanted: unknown): (found: unknown) => boolean {
  const pattern = typeof wanted === "string" ? patternOfMatch(wanted) : undefined;
  if (pattern === undefined) return (found) => found === wanted;
  const matches = compileGlob(pattern);
  return (found) => typeof found === "string" && matches(found);
}
