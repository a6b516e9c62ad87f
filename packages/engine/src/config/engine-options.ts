import { isIP } from "node:net";
import { MAX_TIMEOUT_MS } from "@svc-runtime/protocol";
import { z } from "zod";
import type { LogLevel } from "../kernel/logger.ts";
import { folderSchema } from "./blocks/folder-path.ts";
import { httpFunctionsBlockSchema } from "./blocks/http-functions-block.ts";
import { isHostName } from "./listen-address.ts";

/** Properties of an option besides its type, default and description. */
export interface OptionFacts {
  /** Environment variable. It overrides the file. */
  readonly env?: string;
  /** Flag of `svc`. It overrides the variable and the file. */
  readonly flag?: OptionFlag;
  /** True if a running engine keeps the old value until it restarts. */
  readonly needsRestart?: true;
  /**
   * True for a path. A relative path is resolved from the config file's folder; in a variable or flag, from the working
   * directory.
   */
  readonly isPath?: true;
  /** Set if the value is masked. `unset` is shown if the option has no value. */
  readonly secret?: { readonly unset: string };
}

export interface OptionFlag {
  /** Usage as shown by `svc --help`, e.g. `--log-level <level>`. */
  readonly usage: string;
  readonly description: string;
  /** Value that the option gets from a flag without an argument. */
  readonly sets?: string | boolean;
}

/** Contains the OptionFacts of the schemas in `engineOptions`. */
export const optionFacts = z.registry<OptionFacts>();

const TOKEN = /^[\x21-\x7e]{16,512}$/;

/** Schema of a token that clients present. Messages never contain its value. */
export const tokenSchema = z.string().refine((token) => TOKEN.test(token), {
  message: "must have 16 to 512 characters without spaces; create one with: openssl rand -base64 32",
});

const deadlineSchema = z.int().min(1).max(MAX_TIMEOUT_MS);

const originSchema = z.string().refine(isOrigin, {
  message:
    "must be an origin such as http://localhost:5173: scheme, host and port, nothing else; `null` and * are never allowed",
});

const hostNameSchema = z
  .string()
  .refine(isHostWithOrWithoutPort, {
    message: "must be a host name such as my-box.example or localhost:8080, without scheme or *",
  })
  .toLowerCase();

/**
 * The options of the `engine:` block, except the listeners. These definitions determine: the type `EngineSettings`, the
 * config file's schema and reference, `svc config explain`, the environment variables, the flags of `svc`, and which
 * changes need a restart.
 */
export const engineOptions = {
  mode: z
    .enum(["development", "production"])
    .default("development")
    .meta({ description: "In production, every client of the engine needs a token, also on loopback" })
    .register(optionFacts, {
      env: "SVC_MODE",
      flag: {
        usage: "--prod",
        description: "production mode: every client needs the engine's token, also on loopback (engine.mode)",
        sets: "production",
      },
      needsRestart: true,
    }),
  token: tokenSchema
    .optional()
    .meta({
      description:
        "The engine's token; write it as a variable. Default: the one in .svc/token, created at the first start",
    })
    .register(optionFacts, { env: "SVC_TOKEN", needsRestart: true, secret: { unset: ".svc/token" } }),
  insecure_bind: z
    .boolean()
    .default(false)
    .meta({ description: "Listen off loopback without a token" })
    .register(optionFacts, {
      flag: {
        usage: "--insecure-bind",
        description: "listen off loopback without a token (engine.insecure_bind)",
        sets: true,
      },
      needsRestart: true,
    }),
  max_connections_per_address: z.int().min(1).max(10_000).optional().meta({
    description:
      "Maximum connections of one client address to one listener. Default 1000 for other machines, unlimited for this one",
  }),
  data_dir: folderSchema
    .default(".svc/data")
    .meta({ description: "Folder of stored data, relative to this file" })
    .register(optionFacts, { env: "SVC_DATA_DIR", needsRestart: true, isPath: true }),
  logs_dir: folderSchema
    .default(".svc/logs")
    .meta({ description: "Folder of the workers' log files, relative to this file" })
    .register(optionFacts, { needsRestart: true, isPath: true }),
  default_timeout_ms: deadlineSchema
    .default(30_000)
    .meta({ description: "Default timeout of a call, in milliseconds" }),
  legacy_call_timeout_ms: deadlineSchema
    .default(900_000)
    .meta({ description: "Timeout of calls from clients that cannot set one, in milliseconds" }),
  drain_ms: z
    .int()
    .min(0)
    .max(3_600_000)
    .default(10_000)
    .meta({ description: "How long a shutdown waits for calls in flight, in milliseconds" }),
  allowed_origins: z
    .array(originSchema)
    .default([])
    .meta({ description: "Browser origins that may connect besides the engine's own" }),
  allowed_hosts: z.array(hostNameSchema).default([]).meta({
    description: "Names accepted in the Host header besides the loopback names, with any port or with the given port",
  }),
  console_invoke: z.boolean().default(true).meta({ description: "Whether POST /_console/invoke is served" }),
  validate_requests: z.boolean().default(false).meta({
    description:
      "Whether payloads are validated against the request format of functions that do not set this themselves",
  }),
  http_functions: httpFunctionsBlockSchema
    .prefault({})
    .meta({ description: "Rules for functions registered with a URL" }),
  log_level: z
    .enum(["debug", "info", "warn", "error"] satisfies readonly LogLevel[])
    .default("info")
    .meta({ description: "Level of the engine's own log" })
    .register(optionFacts, {
      env: "SVC_LOG_LEVEL",
      flag: { usage: "--log-level <level>", description: "minimum log level; overrides the config file" },
    }),
};

export const engineOptionsSchema = z.strictObject(engineOptions);
/** The options as written in the file, with defaults filled in. */
export type EngineOptions = z.output<typeof engineOptionsSchema>;

/** A flag of `svc` that sets an option. */
export interface EngineFlag extends OptionFlag {
  readonly option: keyof EngineOptionSettings;
  /** Accepted values; absent if the flag accepts any text or has no argument. */
  readonly choices?: readonly string[] | undefined;
  /** Default value; absent for a flag without an argument. */
  readonly default?: unknown;
}

export const engineFlags: readonly EngineFlag[] = Object.entries(engineOptions).flatMap(([name, schema]) => {
  const flag = optionFacts.get(schema)?.flag;
  if (flag === undefined) return [];
  const option = camelCase(name) as keyof EngineOptionSettings;
  if (flag.sets !== undefined) return { option, ...flag };
  const inner = withoutDefault(schema);
  return {
    option,
    ...flag,
    choices: inner instanceof z.ZodEnum ? inner.options.map(String) : undefined,
    default: schema.safeParse(undefined).data,
  };
});

/** Converts the text of an environment variable or argument to a number or boolean, unless the schema is for text. */
export function valueOfText(schema: z.ZodType, text: string): unknown {
  if (schema instanceof z.ZodString || schema instanceof z.ZodEnum) return text;
  if (/^-?[0-9]+(?:\.[0-9]+)?$/.test(text)) return Number(text);
  return text === "true" ? true : text === "false" ? false : text;
}

export function withoutDefault(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional)
    return withoutDefault(schema.unwrap() as z.ZodType);
  return schema;
}

type CamelCase<Text extends string> = Text extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Text;
type CamelKeys<Value> = Value extends readonly (infer Item)[]
  ? readonly Item[]
  : Value extends object
    ? { readonly [Key in keyof Value as CamelCase<Key & string>]: CamelKeys<Value[Key]> }
    : Value;
/** The options with camelCase names, e.g. `drainMs` for `drain_ms`. */
export type EngineOptionSettings = CamelKeys<EngineOptions>;

/** Returns e.g. `drainMs` for `drain_ms`. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}

function isHostWithOrWithoutPort(text: string): boolean {
  if (isIP(text) !== 0) return true;
  const [, bracketed, name] = /^(?:\[([^\]]+)\]|([^:]+))(?::[1-9][0-9]{0,4})?$/.exec(text) ?? [];
  return bracketed === undefined ? name !== undefined && (isIP(name) !== 0 || isHostName(name)) : isIP(bracketed) === 6;
}
