import { resolve } from "node:path";
import { quoteWord } from "@svc-runtime/protocol";
import { z } from "zod";
import type { CommandEntry } from "../types.ts";
import { folderSchema } from "./folder-path.ts";
import {
  dependsOnSchema,
  environmentSchema,
  limitsOf,
  limitsSchema,
  patternsSchema,
  watchOf,
  watchPatternsSchema,
} from "./supervision-block.ts";

const word = z.string().refine((text) => !text.includes("\0"), { message: "cannot hold a NUL character" });
const shellCommand = word.min(1);

export const commandSchema = z.strictObject({
  name: z.string().meta({ description: "Unique name, shown in listings and used for its log file" }),
  command: z
    .union([shellCommand, z.array(word).min(1)])
    .meta({ description: "A string runs with `sh -c`; a list is a program and its arguments, without a shell" }),
  cwd: folderSchema
    .optional()
    .meta({ description: "Working folder, relative to this file. Default: the folder of this file" }),
  env: environmentSchema.optional().meta({ description: "Environment variables of its processes" }),
  restart: z.enum(["always", "on_failure", "never"]).optional().meta({
    description:
      "When it restarts after it ended: always, on_failure (exit code other than 0, default) or never. Dependents of a command with never wait until it ended with exit code 0",
  }),
  watch: z
    .union([z.boolean(), watchPatternsSchema])
    .optional()
    .meta({ description: "Whether it restarts when files in its folder change, and which. Default false" }),
  depends_on: dependsOnSchema.optional(),
  limits: limitsSchema.optional(),
});

/** The block of `svc-exec`. */
export const execBlockSchema = z
  .strictObject({
    commands: z
      .array(commandSchema)
      .max(100)
      .optional()
      .meta({ description: "Commands that the engine keeps running" }),
    exec: z.array(shellCommand).min(1).max(100).optional().meta({
      description:
        "Older form: commands that run one after another with `sh -c`; all but the last must end with exit code 0, the last is kept running",
    }),
    watch: patternsSchema
      .optional()
      .meta({ description: "Older form: files whose changes restart `exec`, e.g. src/**/*.ts" }),
  })
  .refine(({ exec, watch }) => watch === undefined || exec !== undefined, {
    path: ["watch"],
    message: "needs `exec`; a command has its own watch: `watch: {include: [src]}`",
  });

/**
 * Returns the commands of one block. `instance` is the number of the `svc-exec` entry in the file, from 1. `writtenEnv`
 * returns a variable's value as spelled in the file.
 */
export function commandsOf(
  block: z.output<typeof execBlockSchema>,
  context: {
    readonly folder: string;
    readonly instance: number;
    readonly where: (key: readonly (string | number)[]) => string;
    readonly writtenEnv: (index: number, name: string) => string | undefined;
  },
): CommandEntry[] {
  const commands = (block.commands ?? []).map((given, index): CommandEntry => {
    return {
      name: given.name,
      command: typeof given.command === "string" ? given.command : `exec ${given.command.map(quoteWord).join(" ")}`,
      path: resolve(context.folder, given.cwd ?? "."),
      replicas: 1,
      restart: given.restart ?? "on_failure",
      watch: watchOf(given.watch ?? false),
      env: Object.fromEntries(
        Object.entries(given.env ?? {}).map(([name, value]) => [
          name,
          context.writtenEnv(index, name) ?? String(value),
        ]),
      ),
      dependsOn: given.depends_on ?? [],
      limits: limitsOf(given.limits),
      where: context.where(["commands", index]),
    };
  });
  const pipeline = block.exec === undefined ? [] : [pipelineOf(block.exec, block.watch, context)];
  return [...commands, ...pipeline];
}

function pipelineOf(
  exec: readonly string[],
  watch: readonly string[] | undefined,
  {
    folder,
    instance,
    where,
  }: {
    readonly folder: string;
    readonly instance: number;
    readonly where: (key: readonly (string | number)[]) => string;
  },
): CommandEntry {
  const steps = exec.map((command, index) => `${index === exec.length - 1 ? "exec " : ""}sh -c ${quoteWord(command)}`);
  return {
    name: instance === 1 ? "exec" : `exec-${instance}`,
    command: steps.join(" && "),
    path: folder,
    replicas: 1,
    restart: "on_failure",
    watch: watch === undefined ? false : { include: watch, ignore: [] },
    env: {},
    dependsOn: [],
    limits: limitsOf(undefined),
    where: where(["exec"]),
  };
}
