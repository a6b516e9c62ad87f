import { z } from "zod";
import type { Limits, WatchPatterns } from "../types.ts";

const UNITS: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
};
const SIZE = /^(\d{1,12}(?:\.\d{1,3})?)\s*(B|KB|MB|GB|KiB|MiB|GiB)$/;
/** Minimum memory limit, in bytes. No program runs with less, so a smaller value is probably a mistake in the unit. */
const SMALLEST_BYTES = 1024 * 1024;

const sizeSchema = z
  .union([z.int(), z.string().regex(SIZE, { message: "must be a size such as 512MiB or 2GB, or a number of bytes" })])
  .refine((size) => bytesOf(size) >= SMALLEST_BYTES, { message: "must be at least 1MiB" });

export const patternsSchema = z.array(z.string().min(1).max(1024)).max(1000);

export const watchPatternsSchema = z.strictObject({
  include: patternsSchema
    .optional()
    .meta({ description: "Watch only these files and folders, e.g. src or **/*.py. Default all" }),
  ignore: patternsSchema.optional().meta({
    description:
      "Do not watch these, e.g. data or *.csv. Generated files (node_modules, .venv, dist, *.log and so on) are always ignored",
  }),
});

export const limitsSchema = z.strictObject({
  memory: sizeSchema.optional().meta({
    description:
      "Maximum memory of one process and its descendants together, e.g. 512MiB. Above it they are stopped and restarted",
  }),
  cpu: z
    .number()
    .positive()
    .max(1024)
    .optional()
    .meta({ description: "Maximum CPU time, in cores. Reported as not enforced if the system does not support it" }),
});

export const dependsOnSchema = z.array(z.string().min(1)).max(100).meta({
  description:
    "Names of other entries (workers, commands, modules) that must be ready before this one starts. They stop after it",
});

export const environmentSchema = z.record(
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, {
    message: "a variable's name has letters, digits and _, and does not begin with a digit",
  }),
  z.union([
    z.string().refine((text) => !text.includes("\0"), { message: "cannot hold a NUL character" }),
    z.number(),
    z.boolean(),
  ]),
);

/** Returns the watch patterns, or false if nothing is watched. */
export function watchOf(block: boolean | z.output<typeof watchPatternsSchema>): false | WatchPatterns {
  if (block === false) return false;
  const { include, ignore } = block === true ? {} : block;
  return { include: include ?? [], ignore: ignore ?? [] };
}

export function limitsOf(block: z.output<typeof limitsSchema> | undefined): Limits {
  return { memoryBytes: block?.memory === undefined ? undefined : bytesOf(block.memory), cpu: block?.cpu };
}

function bytesOf(size: number | string): number {
  if (typeof size === "number") return size;
  const [, amount, unit] = SIZE.exec(size) ?? [];
  return Math.round(Number(amount) * (UNITS[unit ?? ""] ?? Number.NaN));
}
