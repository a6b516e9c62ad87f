import { explainConfig } from "../config/explain.ts";
import { loadModules } from "../modules/index.ts";

/** Keys of paths of files or folders. Paths are resolved and shown; they are no secrets. */
const PATHS = /(^|[._])(path|env_file|dir|directory|cert|key|client_ca)$/;

/**
 * The keys of the config file that can contain a secret: of the engine's block, of each module's block and of a
 * worker's entry.
 */
export const configKeys: readonly { readonly key: string; readonly path: readonly string[] }[] = explainConfig(
  "config.yaml",
  undefined,
  {
    env: {},
    modules: await loadModules(),
  },
).filter(({ key }) => !PATHS.test(key));

/** Returns a config with `value` at one of `configKeys`, e.g. `svc-state.adapter.config.redis_url`. */
export function configWith({ key, path }: (typeof configKeys)[number], value: unknown): unknown {
  const [base = ""] = key.split(".", 1);
  const block = path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Readonly<
    Record<string, object>
  >;
  if (base === "engine") return { engine: block };
  if (base === "workers[]") return { workers: [{ name: "mine", path: "./mine", ...block }] };
  const name = path.at(-1) === "redis_url" || path.at(-1) === "key_prefix" ? "redis" : "file_based";
  const adapter = path[0] === "adapter" && path.length > 1 ? { adapter: { name, ...block.adapter } } : {};
  return { workers: [{ name: base, config: { ...block, ...adapter } }] };
}

type Block = Readonly<Record<string, unknown>>;

/** Configs with `block` at each place for free-form values. */
export const freeFormPlaces: Readonly<Record<string, (block: Block) => unknown>> = {
  "a worker's env": (block) => ({ workers: [{ name: "mine", path: "./mine", env: block }] }),
  "a worker's config": (block) => ({ workers: [{ name: "mine", path: "./mine", config: { deep: block } }] }),
  "a command's env": (block) => ({
    workers: [{ name: "svc-exec", config: { commands: [{ name: "c", command: "true", env: block }] } }],
  }),
  "the headers of exports": (block) => ({ workers: [{ name: "svc-observability", config: { headers: block } }] }),
  "the context of a role": (block) => ({ engine: { bridge: { rbac: { roles: { r: { context: block } } } } } }),
  "an adapter's config": (block) => ({
    workers: [{ name: "svc-state", config: { adapter: { name: "redis", config: block } } }],
  }),
  "an unknown block": (block) => ({ workers: [{ name: "svc-http", config: { extra: block } }] }),
};

/** Returns a valid config with `secret` at every place for a secret. */
export function configWithSecrets(secret: string): unknown {
  const action = { type: "webhook", url: `https://hooks.example/services/${secret}` };
  return {
    workers: [
      { name: "svc-state", config: { adapter: { name: "redis", config: { redis_url: `redis://ada:${secret}@db` } } } },
      {
        name: "svc-observability",
        config: {
          endpoint: `http://ada:${secret}@collector:4317`,
          headers: { "x-team": secret },
          alerts: [{ name: "a", metric: "svc.calls", threshold: 1, action }],
        },
      },
      {
        name: "svc-exec",
        config: { commands: [{ name: "c", command: `API_TOKEN=${secret} true`, env: { MY_KEY: Number(secret) } }] },
      },
      {
        name: "mine",
        path: "./mine",
        env: { STRIPE_KEY: secret, DATABASE_URL: `postgres://ada:${secret}@db/x` },
        config: { api_key: Number(secret) },
      },
    ],
    engine: {
      token: `${secret}-and-more`,
      bridge: { rbac: { roles: { r: {} }, tokens: [{ token: `${secret}-and-other`, role: "r" }] } },
    },
  };
}
