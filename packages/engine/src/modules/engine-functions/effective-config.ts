import { z } from "zod";
import type { ModuleContext } from "../../kernel/module.ts";

/** Where a value comes from, strongest first. */
export type ConfigSource = "flag" | "env" | "file" | "default";

export interface ConfigSetting {
  /** As in the file, e.g. `engine.bridge.port`. */
  readonly key: string;
  readonly value: unknown;
  readonly source: ConfigSource;
}

/** The configuration in force, secrets not yet masked. */
export interface EffectiveConfig {
  /** Absolute path. */
  readonly file: string;
  readonly settings: readonly ConfigSetting[];
  readonly modules: readonly {
    readonly name: string;
    /** Tells several entries of one module apart. */
    readonly instance: string;
    /** E.g. `config.yaml:12`. */
    readonly where: string;
    /** By key of the module's block. */
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

/** What stands in the place of a secret. */
export const MASK = "***";
const SECRET_KEY = /token|password|passwd|passphrase|secret|key|credential|authorization|cookie/i;
/** User and password in an address. */
const URL_CREDENTIALS = /\b([a-z][a-z0-9+.-]{0,30}:\/\/)[^/?#\s@]+@/gi;
/** Secrets among the parameters of an address. */
const URL_SECRETS = /([?&][^=&#\s]{0,100}(?:token|password|secret|key)[^=&#\s]{0,100}=)[^&#\s]+/gi;
/** Of headers every value, and all of a text: keys go by whatever name their receiver chose, e.g. `x-honeycomb-team`. */
const HEADERS = /(^|_)headers$/i;
/** Who knows the path of a webhook may post there. */
const WEBHOOK = /webhook/i;
/** An address: its scheme, host and port, and what follows; the credentials apart. */
const ADDRESS = /\b([a-z][a-z0-9+.-]{0,30}:\/\/)(?:[^/?#\s@]*@)*([^/?#\s@]*)([/?#]\S*)?/gi;

/** `engine::config::effective`. */
export function provideEffectiveConfig({ provideFunction }: Pick<ModuleContext<unknown>, "provideFunction">, config: () => EffectiveConfig): void {
  provideFunction({
    id: "engine::config::effective",
    summary: "Every setting in force, with where its value comes from; secrets are masked",
    input: z.looseObject({}),
    handle: () => {
      const { file, settings, modules, workers, warnings } = config();
      return {
        file,
        settings: settings.map(masked),
        modules: modules.map((module) => ({ ...module, settings: module.settings.map(masked) })),
        workers: workers.map((worker) => ({ ...worker, env: maskSecrets(worker.env) })),
        warnings,
      };
    },
  });
}

/** Texts of a config are short; a long one is not worth the search through it. In characters. */
const MAX_SHOWN_CHARACTERS = 10_000;

function cut(text: string): string {
  return text.length > MAX_SHOWN_CHARACTERS ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}…` : text;
}

function masked(setting: ConfigSetting): ConfigSetting {
  const name = setting.key.slice(setting.key.lastIndexOf(".") + 1);
  return { ...setting, value: maskSecrets(setting.value, name) };
}

/** What a listener says about tokens, `token: required`. No token itself: those have 16 characters. */
function isTokenRule(name: string, value: unknown): boolean {
  return name === "token" && (value === "required" || value === "optional");
}

/** A copy with everything masked whose name tells of a secret, and with addresses without their credentials. */
export function maskSecrets(value: unknown, name = ""): unknown {
  if (value === null || value === undefined) return value;
  if (SECRET_KEY.test(name) && !isTokenRule(name, value)) return MASK;
  if (typeof value === "string") return maskedText(value, name);
  if (Array.isArray(value)) return value.map((item) => maskSecrets(item, name));
  if (typeof value !== "object") return value;
  if (HEADERS.test(name)) return Object.fromEntries(Object.keys(value).map((key) => [key, MASK]));
  // As an alert's action is, `{type: webhook, url}`.
  const isWebhook = WEBHOOK.test(name) || ("type" in value && value.type === "webhook");
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, maskSecrets(member, isWebhook ? `webhook_${key}` : key)]));
}

function maskedText(text: string, name: string): string {
  if (HEADERS.test(name)) return MASK;
  if (WEBHOOK.test(name)) return cut(text).replace(ADDRESS, originOnly);
  return cut(text).replace(URL_CREDENTIALS, `$1${MASK}@`).replace(URL_SECRETS, `$1${MASK}`);
}

function originOnly(_address: string, scheme: string, host: string, rest = ""): string {
  return `${scheme}${host}${rest === "" || rest === "/" ? rest : `/${MASK}`}`;
}
