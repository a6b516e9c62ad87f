import { lstatSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { CommandFailure, usageFailure } from "../exit-codes.ts";
import type { Project } from "../project/project.ts";
import type { Shell } from "../shell.ts";
import { type BuiltInWorker, builtInWorkers, findBuiltIn } from "./built-in-workers.ts";

/** A worker's folder that was given on the command line. */
export interface FolderTarget {
  readonly kind: "local";
  /** Absolute path. */
  readonly folder: string;
  readonly shown: string;
}

/** A parsed argument of `svc worker add`. */
export type WorkerTarget =
  | FolderTarget
  | { readonly kind: "built-in"; readonly worker: BuiltInWorker; readonly shown: string };

/**
 * Returns true for a path: a text that starts with `.`, `/` or `~`, or contains a separator. Any other text is a name.
 */
export function looksLikePath(text: string): boolean {
  return /^[.~]/.test(text) || isAbsolute(text) || text.includes("/") || text.includes(sep);
}

/** Returns the absolute path, with `~` expanded. */
export function folderAt(shell: Pick<Shell, "cwd" | "env">, path: string): string {
  const expanded = path === "~" || path.startsWith("~/") ? join(shell.env.HOME ?? homedir(), path.slice(1)) : path;
  return resolve(shell.cwd, expanded);
}

/** Parses an argument of `svc worker add`. Throws a usage error for an unknown built-in worker. */
export async function targetOf(shell: Shell, name: string): Promise<WorkerTarget> {
  if (looksLikePath(name)) return { kind: "local", folder: folderAt(shell, name), shown: name };
  const worker = findBuiltIn(name);
  if (worker !== undefined) return { kind: "built-in", worker, shown: name };
  const { nearestName } = await import("@svc-runtime/engine/local-workers");
  const folder = ownFolder(shell, name);
  const nearest =
    folder ??
    nearestName(
      name,
      builtInWorkers.map((known) => known.name),
    );
  throw usageFailure(
    `Unknown built-in worker "${name}"${nearest === undefined ? "." : `; did you mean ${nearest}?`}`,
    "Built-in workers:",
    ...builtInWorkers.map((known) => `  ${known.name}: ${known.summary}`),
    `Give your own worker by its folder: svc worker add ${folder ?? "./workers/math-worker"}`,
  );
}

/** Returns the path of the folder that the user probably meant, as the user would type it. */
function ownFolder(shell: Shell, name: string): string | undefined {
  return [`./${name}`, `./workers/${name}`].find(
    (path) => statSync(resolve(shell.cwd, path), { throwIfNoEntry: false })?.isDirectory() ?? false,
  );
}

export function requireFolder({ folder, shown }: FolderTarget): void {
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (stats === undefined) throw new CommandFailure(`Folder ${shown} not found.`, { advice: [`Full path: ${folder}`] });
  if (!stats.isDirectory()) throw new CommandFailure(`${shown} is a file; give the worker's folder.`);
}

/** Returns notes on the location of the folder. They matter if the user moves the project later. */
export function locationNotes(
  { folder, shown }: FolderTarget,
  { dir, shownConfig }: Pick<Project, "dir" | "shownConfig">,
): readonly string[] {
  const notes: string[] = [];
  const isLink = lstatSync(folder).isSymbolicLink();
  const real = realpathSync(folder);
  if (isLink)
    notes.push(
      `${shown} is a symbolic link to ${real}; ${shownConfig} contains the link, so that you can change its target later.`,
    );
  const written = relative(realpathSync(dir), isLink ? folder : real);
  if (written === ".." || written.startsWith(`..${sep}`) || isAbsolute(written)) {
    notes.push(
      `${shown} is outside the project's folder ${dir}; ${shownConfig} finds it only while neither of them is moved.`,
    );
  }
  return notes;
}
