import { basename } from "node:path";
import { type KeyPath, readYaml, type YamlSource } from "../yaml/source.ts";
import { lookupIn } from "../yaml/variables.ts";
import { type DescribedKey, describedKeys, LOCAL_WORKER } from "./described-keys.ts";
import { effectiveConfig } from "./effective.ts";
import { memberOf } from "./engine-settings.ts";
import { variableOf } from "./environment-variables.ts";
import { type LoadOptions, parseConfig } from "./load.ts";
import type { LoadedConfig, SettingSource } from "./types.ts";
import type { KnownModules } from "./worker-entries.ts";

/** A key of the config file with its effective value. Values are not masked. */
export interface ExplainedKey extends DescribedKey {
  /** Environment variable of the setting; undefined if it has none. */
  readonly variable: string | undefined;
  /** Effective value. Undefined in three cases: the module is not loaded; the key has no value; there is no config. */
  readonly value: unknown;
  readonly source: SettingSource | undefined;
  /** Location in the file, e.g. `config.yaml:12`; undefined if the file does not set the key. */
  readonly where: string | undefined;
  /** Text in the file if it contains variables, e.g. `${PORT:3111}`. */
  readonly written: string | undefined;
}

/**
 * Describes every key of the config file. If `text` is not undefined, the values are included. Throws ConfigError like
 * `parseConfig`.
 */
export function explainConfig(file: string, text: string | undefined, options: LoadOptions): readonly ExplainedKey[] {
  const keys = describedKeys(options.modules);
  const yaml = text === undefined ? undefined : readYaml(text, lookupIn(options.env)).source;
  if (text === undefined || yaml === undefined) return keys.map((key) => withoutValue(key));
  return new Explainer(parseConfig(file, text, options), yaml, options.modules).explain(keys);
}

function withoutValue(key: DescribedKey): ExplainedKey {
  return {
    ...key,
    variable: variableOf(key.key),
    value: undefined,
    source: undefined,
    where: undefined,
    written: undefined,
  };
}

class Explainer {
  readonly #config: LoadedConfig;
  readonly #yaml: YamlSource;
  readonly #modules: ReturnType<typeof effectiveConfig>["modules"];

  constructor(config: LoadedConfig, yaml: YamlSource, modules: KnownModules) {
    this.#config = config;
    this.#yaml = yaml;
    this.#modules = effectiveConfig(config, modules).modules;
  }

  explain(keys: readonly DescribedKey[]): readonly ExplainedKey[] {
    const isLocal = ({ key }: DescribedKey): boolean => key.startsWith(`${LOCAL_WORKER}.`);
    const localKeys = keys.filter(isLocal);
    return [
      ...keys.map((key) => (isLocal(key) ? withoutValue(key) : this.#explained(key))),
      ...this.#localWorkers(localKeys),
    ];
  }

  #explained(described: DescribedKey): ExplainedKey {
    const [base = ""] = described.key.split(".", 1);
    const filePath = base === "engine" ? ["engine"] : this.#blockOf(base);
    const written = filePath === undefined ? undefined : this.#written([...filePath, ...described.path]);
    const setting =
      this.#config.effective.find(({ key }) => key === described.key) ?? this.#moduleSetting(base, described.path);
    const fallback = written?.value === undefined ? undefined : { value: written.value, source: "file" as const };
    const { value, source } = setting ?? fallback ?? { value: undefined, source: undefined };
    const isFromFile = source === "file" && written?.value !== undefined;
    return {
      ...described,
      variable: variableOf(described.key),
      value,
      source,
      where: isFromFile ? written.where : undefined,
      written: isFromFile ? written.template : undefined,
    };
  }

  /** Returns the setting of the first entry of a module. Further entries of the module are not explained. */
  #moduleSetting(
    name: string,
    path: readonly string[],
  ): { readonly value: unknown; readonly source: SettingSource } | undefined {
    const module = this.#modules.find((entry) => entry.instance === name);
    const [first = "", ...rest] = path;
    const setting = module?.settings.find(({ key }) => key === first);
    const value = rest.reduce<unknown>(memberOf, setting?.value);
    if (setting === undefined || value === undefined) return undefined;
    if (setting.source !== "file" || rest.length === 0) return { value, source: setting.source };
    const block = this.#config.modules.find((entry) => entry.instance === name)?.config;
    return { value, source: path.reduce<unknown>(memberOf, block) === undefined ? "default" : "file" };
  }

  /** Returns the path of a module's `config`, found by the line of its entry. */
  #blockOf(name: string): KeyPath | undefined {
    const entry = this.#config.modules.find(({ instance }) => instance === name);
    const path = entry === undefined ? undefined : this.#entryAt(entry.where);
    return path === undefined ? undefined : [...path, "config"];
  }

  #entryAt(where: string): KeyPath | undefined {
    const line = Number(where.slice(where.lastIndexOf(":") + 1));
    for (const list of ["workers", "modules"]) {
      const items = memberOf(this.#yaml.value, list);
      const index = Array.isArray(items)
        ? items.findIndex((_, at) => this.#yaml.positionOf([list, at])?.line === line)
        : -1;
      if (index !== -1) return [list, index];
    }
    return undefined;
  }

  #localWorkers(keys: readonly DescribedKey[]): ExplainedKey[] {
    return this.#config.localWorkers.flatMap((worker) => {
      const entry = this.#entryAt(worker.where);
      if (entry === undefined) return [];
      return keys.map((described): ExplainedKey => {
        const written = this.#written([...entry, ...described.path]);
        const inForce = described.path.reduce<unknown>(memberOf, worker);
        return {
          ...described,
          key: `${entry[0]}[${entry[1]}].${described.path.join(".")}`,
          variable: undefined,
          value: written?.value ?? inForce,
          source: written?.value === undefined ? (inForce === undefined ? undefined : "default") : "file",
          where: written?.value === undefined ? undefined : written.where,
          written: written?.template,
        };
      });
    });
  }

  #written(path: KeyPath): { readonly value: unknown; readonly where: string; readonly template: string | undefined } {
    const value = path.reduce<unknown>(memberOf, this.#yaml.value);
    const line = this.#yaml.positionOfKey(path)?.line ?? 1;
    return { value, where: `${basename(this.#config.file)}:${line}`, template: this.#yaml.templateOf(path) };
  }
}
