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
 * The values that can stand at a position of the command line: `@` and a kind of names; `file`; `folder`; `,` and
 * choices; `folder,` and choices. Empty if the values cannot be completed.
 */
export type Place = `@${Named}` | "file" | "folder" | `,${string}` | `folder,${string}` | "";

/** Places by the name of the argument or value in help. Other names cannot be completed. */
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

/** Exceptions: in these commands, the name has another meaning than in most commands. */
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

/** Returns the place of an option's value. Returns undefined for a switch, which has no value. */
export function placeOfValue({ value, choices }: OptionNode): Place | undefined {
  if (value === undefined) return undefined;
  return choices.length > 0 ? `,${choices.join(",")}` : (BY_NAME[value] ?? "");
}
