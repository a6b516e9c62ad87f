import { maskConfig } from "@svc-runtime/protocol";
import { z } from "zod";
import type { ModuleContext } from "../../kernel/module.ts";

/** Source of a value, in descending order of precedence. */
export type ConfigSource = "flag" | "env" | "file" | "default";

export interface ConfigSetting {
  /** As in the file, e.g. `engine.bridge.port`. */
  readonly key: string;
  readonly value: unknown;
  readonly source: ConfigSource;
}

/** The active configuration; secrets are not masked yet. */
export interface EffectiveConfig {
  /** Absolute path. */
  readonly file: string;
  readonly settings: readonly ConfigSetting[];
  readonly modules: readonly {
    readonly name: string;
    /** Distinguishes several entries of one module. */
    readonly instance: string;
    /** E.g. `config.yaml:12`. */
    readonly where: string;
    /** Settings of the module's block. Their keys are those within the block, without the name of the module. */
    readonly settings: readonly ConfigSetting[];
  }[];
  readonly workers: readonly {
    readonly name: string;
    readonly path: string;
    readonly replicas: number;
    readonly watch: unknown;
    readonly where: string;
    readonly env: Readonly<Record<string, string>>;
  }[];
  readonly warnings: readonly string[];
}

/** Provides `engine::config::effective`. */
export function provideEffectiveConfig(
  { provideFunction }: Pick<ModuleContext<unknown>, "provideFunction">,
  config: () => EffectiveConfig,
): void {
  provideFunction({
    id: "engine::config::effective",
    summary: "All settings with the source of their values; secrets are masked",
    input: z.looseObject({}),
    handle: () => {
      const { file, settings, modules, workers, warnings } = config();
      return {
        file,
        settings: settings.map(masked),
        modules: modules.map((module) => ({ ...module, settings: module.settings.map(masked) })),
        workers: maskConfig(workers),
        warnings: maskConfig(warnings),
      };
    },
  });
}

function masked(setting: ConfigSetting): ConfigSetting {
  return { ...setting, value: maskConfig(setting.value, setting.key.split(".")) };
}
