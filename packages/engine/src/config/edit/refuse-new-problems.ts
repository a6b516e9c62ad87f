import type { FileProblem } from "../../yaml/problem.ts";
import { memberOf } from "../engine-settings.ts";
import { type LoadOptions, parseConfig } from "../load.ts";
import { hasStoredToken } from "../token-file.ts";
import { ConfigError } from "../types.ts";
import { ConfigEditError } from "./edit-error.ts";
import { entryLists } from "./list-edit.ts";

/** The content of a config file before and after an edit. `file` is the absolute path that the engine loads. */
export interface Edited {
  readonly file: string;
  readonly before: string;
  readonly after: string;
}

/**
 * Throws ConfigEditError `would_be_refused` if the edit adds a problem because of which the engine would reject the
 * file. The engine would then continue with the previous config. Existing problems do not prevent an edit, so that
 * users can fix them one by one.
 */
export function refuseNewProblems({ file, before, after }: Edited, options: LoadOptions): void {
  // The engine may run with other variables than this process. So only variables that the edit adds must be set here.
  const env = { ...Object.fromEntries(variablesIn(before).map((name) => [name, ""])), ...options.env };
  const problemsOf = (text: string): readonly FileProblem[] =>
    problemsIn(file, text, { hasStoredToken: hasStoredToken(file), ...options, env });
  const [problem] = without(problemsOf(after), problemsOf(before));
  if (problem === undefined) return;
  const dependents = dependentsOnLost(before, after);
  if (dependents.length === 0) {
    const key = problem.key === undefined ? "" : `${problem.key}: `;
    throw new ConfigEditError(
      "would_be_refused",
      `the engine would reject ${file} after this edit, so the file was not changed: ${key}${problem.message}`,
    );
  }
  const names = dependents.map(({ name }) => name).join(", ");
  const reasons = dependents.map(({ name, lost }) => `${name} depends on ${lost.join(", ")}`).join("; ");
  throw new ConfigEditError(
    "would_be_refused",
    `${reasons}. Remove that from depends_on in ${file}, or remove ${names} first; nothing was changed`,
  );
}

function problemsIn(file: string, text: string, options: LoadOptions): readonly FileProblem[] {
  try {
    parseConfig(file, text, options);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

/** Returns the names of the variables that have no default. */
function variablesIn(text: string): string[] {
  return [...text.matchAll(/\$\{([A-Za-z_]\w*)\}/g)].map(([, name]) => name ?? "");
}

/**
 * Returns the problems without the known ones. A known problem is removed once. Line numbers in messages are ignored,
 * because an edit moves lines.
 */
function without(problems: readonly FileProblem[], known: readonly FileProblem[]): FileProblem[] {
  const left = known.map(messageWithoutLines);
  return problems.filter((problem) => {
    const at = left.indexOf(messageWithoutLines(problem));
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

function messageWithoutLines({ message }: FileProblem): string {
  return message.replace(/:\d+/g, "");
}

interface Named {
  readonly name: unknown;
  readonly depends_on: unknown;
}

/** Returns the entries that depend on an entry that the edit removes. */
function dependentsOnLost(
  before: string,
  after: string,
): { readonly name: string; readonly lost: readonly string[] }[] {
  const kept = new Set(namedIn(after).map(({ name }) => name));
  const lost = new Set(namedIn(before).flatMap(({ name }) => (kept.has(name) ? [] : [name])));
  return namedIn(after).flatMap(({ name, depends_on: dependsOn }) => {
    const missed = Array.isArray(dependsOn)
      ? dependsOn.filter((other): other is string => typeof other === "string" && lost.has(other))
      : [];
    return typeof name === "string" && missed.length > 0 ? [{ name, lost: missed }] : [];
  });
}

/** Returns the workers, modules and commands as they are written in the text. */
function namedIn(text: string): Named[] {
  return entryLists(text).flatMap(({ entries }) => entries.flatMap((entry) => [...named(entry), ...commandsIn(entry)]));
}

function commandsIn(entry: unknown): Named[] {
  const config = memberOf(entry, "config");
  const commands = memberOf(config, "commands");
  const pipeline = memberOf(config, "exec") === undefined ? [] : [{ name: "exec", depends_on: [] }];
  return [...(Array.isArray(commands) ? commands.flatMap(named) : []), ...pipeline];
}

function named(entry: unknown): Named[] {
  const name = memberOf(entry, "name");
  return typeof name === "string" ? [{ name, depends_on: memberOf(entry, "depends_on") }] : [];
}
