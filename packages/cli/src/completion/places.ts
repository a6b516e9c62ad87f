import type { CommandNode, OptionNode } from "../command-tree.ts";
import { builtInWorkers } from "../workers/built-in-workers.ts";

/** Kinds of names that come from a running engine, as `svc __complete` lists them. */
export const NAMED = [
  "function",
  "worker",
  "configured-worker",
  "service",
  "queue",
  "scope",
  "key",
  "topic",
  "trigger-type",
  "schedule",
] as const;

export type Named = (typeof NAMED)[number];

/**
 * The values that a position on the command line accepts: `@` and a kind of names, `file`, `folder`, `,` and choices, or a
 * folder and choices. Empty if only the user knows the value.
 */
export type Place = `@${Named}` | "file" | "folder" | `,${string}` | `folder,${string}` | "";

/** By the name of the value in help. Values that are not listed cannot be completed. */
const BY_NAME: Readonly<Record<string, Place>> = {
  dir: "folder",
  file: "file",
  folder: "folder",
  function: "@function",
  key: "@key",
  keys: "@key",
  queue: "@queue",
  scope: "@scope",
  service: "@service",
  topic: "@topic",
  type: "@trigger-type",
  worker: "@worker",
};

/** Exceptions, where a name has another meaning than in most commands. */
const BY_COMMAND: Readonly<Record<string, Place>> = {
  "svc config explain key": "",
  "svc cron run function": "@schedule",
  "svc worker add worker": `folder,${builtInWorkers.map(({ name }) => name).join(",")}`,
  "svc worker inspect worker": "@configured-worker",
};

export function placeOfArgument({ path }: CommandNode, name: string): Place {
  if (path.startsWith("svc worker ") && (name === "name" || name === "names")) return "@configured-worker";
  return BY_COMMAND[`${path} ${name}`] ?? BY_NAME[name] ?? "";
}

/** Returns undefined for a switch. */
export function placeOfValue({ value, choices }: OptionNode): Place | undefined {
  if (value === undefined) return undefined;
  return choices.length > 0 ? `,${choices.join(",")}` : (BY_NAME[value] ?? "");
}
