import { lstatSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { type BuiltInWorker, builtInWorkers, findBuiltIn } from "./built-in-workers.ts";
import { CommandFailure, usageFailure } from "./exit-codes.ts";
import type { Project } from "./project.ts";
import type { Shell } from "./shell.ts";

/** A worker's folder, as it was named on the command line. */
export interface FolderTarget {
  readonly kind: "local";
  /** Absolute. */
  readonly folder: string;
  readonly shown: string;
}

/** What `svc worker add` is asked to add. */
export type WorkerTarget = FolderTarget | { readonly kind: "built-in"; readonly worker: BuiltInWorker; readonly shown: string };

/** A path begins with `.`, `/` or `~`, or holds a separator; anything else is a name. */
export function looksLikePath(text: string): boolean {
  return /^[.~]/.test(text) || isAbsolute(text) || text.includes("/") || text.includes(sep);
}

/** Absolute, `~` replaced. */
export function folderAt(shell: Pick<Shell, "cwd" | "env">, path: string): string {
  const expanded = path === "~" || path.startsWith("~/") ? join(shell.env.HOME ?? homedir(), path.slice(1)) : path;
  return resolve(shell.cwd, expanded);
}

/** Exit 2 for a name that is no built-in worker's. */
export async function targetOf(shell: Shell, name: string): Promise<WorkerTarget> {
  if (looksLikePath(name)) return { kind: "local", folder: folderAt(shell, name), shown: name };
  const worker = findBuiltIn(name);
  if (worker !== undefined) return { kind: "built-in", worker, shown: name };
  const { nearestName } = await import("@svc/engine/local-workers");
  const folder = ownFolder(shell, name);
  const meant =
    folder ??
    nearestName(
      name,
      builtInWorkers.map((known) => known.name),
    );
  throw usageFailure(
    `There is no built-in worker "${name}"${meant === undefined ? "." : `; did you mean ${meant}?`}`,
    "Built-in workers:",
    ...builtInWorkers.map((known) => `  ${known.name}: ${known.summary}`),
    `A worker of your own is named by its folder: svc worker add ${folder ?? "./workers/math-worker"}`,
  );
}

/** A folder that the name was probably meant to be, as one types it. */
function ownFolder(shell: Shell, name: string): string | undefined {
  return [`./${name}`, `./workers/${name}`].find((path) => statSync(resolve(shell.cwd, path), { throwIfNoEntry: false })?.isDirectory() ?? false);
}

export function requireFolder({ folder, shown }: FolderTarget): void {
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (stats === undefined) throw new CommandFailure(`There is no folder ${shown}.`, { advice: [`It was looked for at ${folder}.`] });
  if (!stats.isDirectory()) throw new CommandFailure(`${shown} is a file; a worker is named by its folder.`);
}

/** What somebody who copies the project elsewhere has to know about where the folder lies. */
export function placeNotes({ folder, shown }: FolderTarget, { dir, shownConfig }: Pick<Project, "dir" | "shownConfig">): readonly string[] {
  const notes: string[] = [];
  const isLink = lstatSync(folder).isSymbolicLink();
  const real = realpathSync(folder);
  if (isLink) notes.push(`${shown} is a symbolic link to ${real}; ${shownConfig} names the link, so that it can point elsewhere later.`);
  const written = relative(realpathSync(dir), isLink ? folder : real);
  if (written === ".." || written.startsWith(`..${sep}`) || isAbsolute(written)) {
    notes.push(`${shown} lies outside the project's folder ${dir}; ${shownConfig} finds it only as long as both stay where they are.`);
  }
  return notes;
}
