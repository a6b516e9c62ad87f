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

/**
 * Returns all effective settings: those of the engine, the modules' blocks with defaults, and the local workers.
 * Secrets are not masked.
 */
export function effectiveConfig(
  config: LoadedConfig,
  modules: readonly { readonly name: string; readonly config: z.ZodType }[],
) {
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
    workers: localWorkers.map(({ name, path, replicas, watch, where, env }) => ({
      name,
      path,
      replicas,
      watch,
      where,
      env,
    })),
    warnings,
  };
}

/**
 * Returns the settings of a module. `overridable` are those that flags and variables may override. They take precedence
 * over the block.
 */
function settingsOf(
  block: unknown,
  schema: z.ZodType | undefined,
  overridable: readonly EffectiveSetting[],
): Setting[] {
  const given = typeof block === "object" && block !== null ? block : {};
  const parsed = schema === undefined ? undefined : asWritten(schema).safeParse(given);
  const inForce = parsed?.success && typeof parsed.data === "object" && parsed.data !== null ? parsed.data : given;
  const own = overridable.map(({ key, value, source }) => ({ key: key.slice(key.indexOf(".") + 1), value, source }));
  const others = Object.entries(inForce)
    .filter(([key]) => !own.some((setting) => setting.key === key))
    .map(([key, value]): Setting => ({ key, value, source: Object.hasOwn(given, key) ? "file" : "default" }));
  return [...own, ...others].filter(({ value }) => value !== undefined);
}

/** Returns the schema of the keys as written in the file, with defaults but without transforms. */
function asWritten(schema: z.ZodType): z.ZodType {
  if (!(schema instanceof z.ZodPipe)) return schema;
  const written = schema.in instanceof z.ZodTransform ? schema.out : schema.in;
  return asWritten(written as z.ZodType);
}
