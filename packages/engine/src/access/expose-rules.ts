import { compileGlob } from "@svc-runtime/protocol";
import { patternOfMatch } from "./name-list.ts";
import type { ExposeSetting } from "./settings.ts";

/** Returns true if the rule exposes the function. `metadata` is called only by rules that use it. */
export type ExposeRule = (id: string, metadata: () => unknown) => boolean;

/** Compiles one rule of `expose_functions`. Throws TypeError for a string that is not `match("…")`. */
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
    // A rule without keys would match every function, which is never intended.
    if (wanted.length === 0 || typeof found !== "object" || found === null) return false;
    return wanted.every(
      ([key, fits]) => Object.hasOwn(found, key) && fits((found as Readonly<Record<string, unknown>>)[key]),
    );
  };
}

function compileValue(wanted: unknown): (found: unknown) => boolean {
  const pattern = typeof wanted === "string" ? patternOfMatch(wanted) : undefined;
  if (pattern === undefined) return (found) => found === wanted;
  const matches = compileGlob(pattern);
  return (found) => typeof found === "string" && matches(found);
}
