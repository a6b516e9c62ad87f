import { nameProblem } from "@svc-runtime/protocol";
import { z } from "zod";
import { loneSurrogate, UNPAIRED_SURROGATE } from "../../items/item-name.ts";

/** Name prefix of the engine's own streams. Functions cannot write to them. */
const SYSTEM_PREFIX = "svc.";
/** Separates stream and group in a scope. No name may contain it. */
const SEPARATOR = "\u001f";

/** Returns the reason why a name cannot be used for a user-defined stream, or undefined if it can. */
export function streamNameProblem(name: string): string | undefined {
  if (name.startsWith(SYSTEM_PREFIX))
    return `names that start with ${SYSTEM_PREFIX} are reserved for the engine's streams; choose another`;
  return groupNameProblem(name);
}

export function groupNameProblem(name: string): string | undefined {
  return nameProblem(name, "it") ?? (loneSurrogate.test(name) ? `it ${UNPAIRED_SURROGATE}` : undefined);
}

function nameSchema(description: string, problemOf: (name: string) => string | undefined) {
  return z
    .string()
    .superRefine((name, context) => {
      const problem = problemOf(name);
      if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
    })
    .meta({ description, minLength: 1 });
}

export const streamNameSchema = nameSchema(
  "Stream: 1 to 256 bytes without control characters; names that start with `svc.` are reserved",
  streamNameProblem,
);
export const groupNameSchema = nameSchema(
  "Group of the stream: 1 to 256 bytes without control characters",
  groupNameProblem,
);

/** Returns the scope of a group's items. */
export function scopeOf(stream: string, group: string): string {
  return stream + SEPARATOR + group;
}

/** Returns the prefix of the scopes of a stream's groups. */
export function scopePrefixOf(stream: string): string {
  return stream + SEPARATOR;
}

/** Returns the stream and the group of a scope. */
export function namesOfScope(scope: string): { readonly stream: string; readonly group: string } {
  const at = scope.indexOf(SEPARATOR);
  return { stream: scope.slice(0, at), group: scope.slice(at + 1) };
}

/** True if the name matches. `pattern` is a name, or a prefix with `*` at the end. */
export function matchesNamePattern(pattern: string, name: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}
