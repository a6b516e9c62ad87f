import { nameProblem } from "@svc/protocol";
import { z } from "zod";

/** Begins the names of the engine's own streams, which nobody else may write. */
const SYSTEM_PREFIX = "svc.";
/** No name may hold it, so that a stream and a group stand in one text without doubt about where one ends. */
const SEPARATOR = "\u001f";

/** A surrogate that is not half of a pair: no Unicode character, and nothing that UTF-8 can hold. */
const loneSurrogate = /\p{Surrogate}/u;

/** What is wrong with the name of a user-defined stream; undefined when it may be used. */
export function streamNameProblem(name: string): string | undefined {
  if (name.startsWith(SYSTEM_PREFIX)) return `names that begin with ${SYSTEM_PREFIX} are those of the engine's own streams; choose another`;
  return groupNameProblem(name);
}

export function groupNameProblem(name: string): string | undefined {
  return nameProblem(name, "it") ?? (loneSurrogate.test(name) ? "it holds half of a surrogate pair, which is no Unicode text" : undefined);
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

export const streamNameSchema = nameSchema("Stream: 1 to 256 bytes without control characters; `svc.` begins the engine's own", streamNameProblem);
export const groupNameSchema = nameSchema("Group of the stream: 1 to 256 bytes without control characters", groupNameProblem);

/** The scope in which the items of a group are kept. */
export function scopeOf(stream: string, group: string): string {
  return stream + SEPARATOR + group;
}

/** What the scopes of all groups of a stream begin with. */
export function scopePrefixOf(stream: string): string {
  return stream + SEPARATOR;
}

/** The stream and the group of a scope. */
export function namesOfScope(scope: string): { readonly stream: string; readonly group: string } {
  const at = scope.indexOf(SEPARATOR);
  return { stream: scope.slice(0, at), group: scope.slice(at + 1) };
}

/** `pattern` is a stream's name, or with `*` at its end how names begin. */
export function namePatternFits(pattern: string, name: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}
