import { z } from "zod";
import type { EffectiveSetting, LoadedConfig, SettingSource } from "./types.ts";

interface Setting {
  readonly key: string;
  readonly value: unknown;
  readonly source: SettingSource;
}

interface EffectiveModule {
  readonly name: string;
  readonly instance: string;
  readonly where: string;
  readonly settings: readonly Setting[];
}

/** All that is in force, for whoever shows it: the engine's settings, the modules' blocks with their defaults, the local workers. Holds secrets. */
export function effectiveConfig(config: LoadedConfig, modules: readonly { readonly name: string; readonly config: z.ZodType }[]) {
  const { file, effective, localWorkers, warnings } = config;
  return {
    file,
    settings: effective as readonly EffectiveSetting[],
    modules: config.modules.map((entry): EffectiveModule => {
      const { name, instance, where } = entry;
      const schema = modules.find((module) => module.name === name)?.config;
      return {
        name,
        instance,
        where,
        settings: settingsOf(
          entry.config,
          schema,
          effective.filter(({ key }) => key.startsWith(`${name}.`)),
        ),
      };
    }),
    workers: localWorkers.map(({ name, path, replicas, watch, where, env }) => ({ name, path, replicas, watch, where, env })),
    warnings,
  };
}

/** `settled` are those that flags and variables may overrule; they win over the block. */
function settingsOf(block: unknown, schema: z.ZodType | undefined, settled: readonly EffectiveSetting[]): Setting[] {
  const given = typeof block === "object" && block !== null ? block : {};
  const parsed = schema === undefined ? undefined : asWritten(schema).safeParse(given);
  const inForce = parsed?.success && typeof parsed.data === "object" && parsed.data !== null ? parsed.data : given;
  const own = settled.map(({ key, value, source }) => ({ key: key.slice(key.indexOf(".") + 1), value, source }));
  const others = Object.entries(inForce)
    .filter(([key]) => !own.some((setting) => setting.key === key))
    .map(([key, value]): Setting => ({ key, value, source: Object.hasOwn(given, key) ? "file" : "default" }));
  return [...own, ...others].filter(({ value }) => value !== undefined);
}

/** What reads the keys as they stand in the file, with their defaults, without what makes something else of them. */
function asWritten(schema: z.ZodType): z.ZodType {
  if (!(schema instanceof z.ZodPipe)) return schema;
  const written = schema.in instanceof z.ZodTransform ? schema.out : schema.in;
  return asWritten(written as z.ZodType);
}
