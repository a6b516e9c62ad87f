// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of a config file are written this way
import { mkdir, mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { character } from "@svc-runtime/protocol/testing/arbitraries";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type LoadOptions, loadConfig, parseConfig } from "./load.ts";
import { ConfigError, type LoadedConfig } from "./types.ts";

const FILE = "/project/config.yaml";
const adapter = z.union([
  z.strictObject({ name: z.literal("in_memory") }),
  z.strictObject({
    name: z.literal("file_based"),
    config: z.strictObject({ sync: z.boolean().optional() }).optional(),
  }),
  z.strictObject({
    name: z.literal("kv"),
    config: z.strictObject({ store_method: z.enum(["in_memory", "file_based"]) }).optional(),
  }),
]);
const modules = [
  {
    name: "svc-state",
    config: z.strictObject({ adapter: adapter.optional(), max_items: z.int().min(1).max(10).optional() }),
  },
  {
    name: "svc-http",
    config: z.strictObject({
      host: z.string().optional(),
      port: z.int().optional(),
      body_limit: z.union([z.int(), z.string()]).optional(),
    }),
  },
];

const load = (text: string, options: Partial<LoadOptions> = {}): LoadedConfig =>
  parseConfig(FILE, text, { env: {}, modules, cwd: "/cwd", ...options });

function problemsOf(text: string, options: Partial<LoadOptions> = {}): string[] {
  try {
    load(text, options);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map((problem) => `${problem.line ?? "-"} ${problem.key ?? "-"}: ${problem.message}`);
  }
  return [];
}

describe("a config file", () => {
  it.each(["", "# nothing yet\n", "workers: []\n", "modules: []\nengine:\n", "{}"])(
    "may be as short as %j and gets every default",
    (text) => {
      const config = load(text);
      expect(config).toMatchObject({
        file: FILE,
        engine: {
          bridge: { host: "127.0.0.1", port: 49134 },
          dataDir: "/project/.svc/data",
          logsDir: "/project/.svc/logs",
          defaultTimeoutMs: 30_000,
          legacyCallTimeoutMs: 900_000,
          drainMs: 10_000,
          allowedOrigins: [],
          allowedHosts: [],
          consoleInvoke: true,
          httpFunctions: { urlAllowlist: [], blockPrivateIps: true, requireHttps: true, retries: 2 },
          logLevel: "info",
        },
        http: { host: "127.0.0.1", port: 3111 },
        realtime: { host: "127.0.0.1", port: 3112 },
        modules: [],
        localWorkers: [],
        warnings: [],
      });
      expect(new Set(config.effective.map((setting) => setting.source))).toEqual(new Set(["default"]));
    },
  );

  it("sets what its engine block says", () => {
    const text = `engine:
  bridge: {host: localhost, port: 5000}
  data_dir: ../data
  logs_dir: /var/log/svc
  default_timeout_ms: 1000
  legacy_call_timeout_ms: 2000
  drain_ms: 0
  allowed_origins: ["http://localhost:5173"]
  allowed_hosts: [My-Box.example]
  console_invoke: false
  validate_requests: true
  log_level: debug
`;
    expect(load(text).engine).toEqual({
      bridge: { host: "localhost", port: 5000 },
      bridgeAccess: { tokenRequired: false, rbac: undefined, middlewareFunctionId: undefined },
      bridges: [],
      mode: "development",
      token: undefined,
      insecureBind: false,
      maxConnectionsPerAddress: undefined,
      dataDir: "/data",
      logsDir: "/var/log/svc",
      defaultTimeoutMs: 1000,
      legacyCallTimeoutMs: 2000,
      drainMs: 0,
      allowedOrigins: ["http://localhost:5173"],
      allowedHosts: ["my-box.example"],
      consoleInvoke: false,
      validateRequests: true,
      httpFunctions: { urlAllowlist: [], blockPrivateIps: true, requireHttps: true, retries: 2 },
      logLevel: "debug",
    });
  });

  it("lists modules and local workers in the order of the file", () => {
    const { modules: loaded, localWorkers } = load(`workers:
  - name: svc-state
    config:
      adapter: {name: in_memory}
  - name: math
    path: ./workers/math
  - name: svc-http
  - name: caller
    path: /elsewhere/caller
    replicas: 3
    overlap: false
    watch: false
    env: {MODE: fast, RATIO: 1.10, ON: true}
`);
    expect(loaded).toEqual([
      { name: "svc-state", instance: "svc-state", config: { adapter: { name: "in_memory" } }, where: "config.yaml:2" },
      { name: "svc-http", instance: "svc-http", config: {}, where: "config.yaml:7" },
    ]);
    const unordered = { dependsOn: [], limits: { memoryBytes: undefined, cpu: undefined } };
    expect(localWorkers).toEqual([
      {
        name: "math",
        path: "/project/workers/math",
        configuredPath: "./workers/math",
        replicas: 1,
        overlap: true,
        watch: { include: [], ignore: [] },
        envFiles: [{ path: "/project/workers/math/.env", required: false }],
        env: {},
        where: "config.yaml:5",
        ...unordered,
      },
      {
        name: "caller",
        path: "/elsewhere/caller",
        configuredPath: "/elsewhere/caller",
        replicas: 3,
        overlap: false,
        watch: false,
        envFiles: [{ path: "/elsewhere/caller/.env", required: false }],
        env: { MODE: "fast", RATIO: "1.10", ON: "true" },
        where: "config.yaml:8",
        ...unordered,
      },
    ]);
  });

  it("names a worker's files of variables, from the config file on, and none for false", () => {
    const [named, none] = load(`workers:
  - {name: a, path: ./a, env_file: [${JSON.stringify(import.meta.filename)}]}
  - {name: b, path: ./b, env_file: false}
`).localWorkers;
    expect([named?.envFiles, none?.envFiles]).toEqual([[{ path: import.meta.filename, required: true }], []]);
    expect(() => load("workers: [{name: a, path: ./a, env_file: ./gone.env}]")).toThrow(
      "workers[0].env_file: file /project/gone.env not found",
    );
  });

  it("may list a module several times", () => {
    expect(
      load("workers: [{name: svc-state}, {name: svc-http}, {name: svc-state}]").modules.map((entry) => entry.instance),
    ).toEqual(["svc-state", "svc-http", "svc-state#2"]);
  });

  it("moves the listeners with the blocks of svc-http and svc-stream", () => {
    const config = load(
      "workers:\n  - name: svc-http\n    config: {port: 4111}\n  - name: svc-stream\n    config: {port: 4112, host: '::1'}\n",
    );
    expect(config.http).toEqual({ host: "127.0.0.1", port: 4111 });
    expect(config.realtime).toEqual({ host: "::1", port: 4112 });
  });

  it("warns of modules that this version does not have", () => {
    const names = ["svc-stream", "svc-cron", "svc-event", "svc-pubsub", "svc-queue", "svc-observability", "svc-exec"];
    const config = load(`workers:\n${names.map((name) => `  - name: ${name}\n`).join("")}`);
    expect(config.modules).toEqual([]);
    expect(config.warnings).toHaveLength(names.length);
    expect(config.warnings[1]).toBe(
      "config.yaml:3: this version of svc does not have the module svc-cron yet; the entry has no effect",
    );
    expect(config.warnings[0]).toContain("besides its host and port");
  });
});

describe("compatibility", () => {
  it("takes the reference's names for those of the modules", () => {
    expect(
      load("workers: [{name: iii-state}, {name: http, config: {port: 1}}]").modules.map((entry) => entry.name),
    ).toEqual(["svc-state", "svc-http"]);
  });

  it("reads the older form with classes for modules and adapters", () => {
    const config = load(`modules:
  - class: modules::state::StateModule
    config:
      adapter:
        class: modules::state::adapters::KvStore
        config: {store_method: file_based}
  - class: modules::api::RestApiModule
    config: {port: 4000}
  - class: modules::stream::StreamModule
    config: {port: 4001}
`);
    expect(config.modules.map(({ name, config: block }) => ({ name, block }))).toEqual([
      { name: "svc-state", block: { adapter: { name: "kv", config: { store_method: "file_based" } } } },
      { name: "svc-http", block: { port: 4000 } },
    ]);
    expect(config.realtime.port).toBe(4001);
  });

  it("says what replaces the entries that only the reference has, and takes over the worker socket's address", () => {
    const config = load(
      "workers:\n  - name: iii-worker-manager\n    config: {port: 5000, host: 127.0.0.1, rbac: {}}\n  - name: iii-telemetry\n",
    );
    expect(config.engine.bridge).toEqual({ host: "127.0.0.1", port: 5000 });
    expect(config.warnings).toEqual([
      expect.stringMatching(/^config.yaml:2: "iii-worker-manager" has no effect: .*engine\.bridge/),
      expect.stringMatching(/^config.yaml:4: "iii-telemetry" has no effect/),
    ]);
  });

  it("takes over what the older entry for functions over HTTP says, where the engine block is silent", () => {
    const config = load(
      "engine: {http_functions: {retries: 5, require_https: true}}\nworkers:\n  - name: iii-http-functions\n    config: {security: {url_allowlist: ['*.example.com'], block_private_ips: false, require_https: false}}\n",
    );
    expect(config.engine.httpFunctions).toEqual({
      urlAllowlist: ["*.example.com"],
      blockPrivateIps: false,
      requireHttps: true,
      retries: 5,
    });
    expect(config.warnings).toEqual([
      expect.stringMatching(/^config.yaml:3: "iii-http-functions" has no effect: .*engine\.http_functions/),
    ]);
    expect(config.effective).toContainEqual({ key: "engine.http_functions.retries", value: 5, source: "file" });
  });

  it.each(["https://", "a b", "https://api.example.com/x?y", "ftp://a", "http://a/#b", ""])(
    "refuses %j in the list of addresses for functions over HTTP",
    (entry) => {
      expect(() => load(`engine: {http_functions: {url_allowlist: [${JSON.stringify(entry)}]}}`)).toThrow(
        /engine\.http_functions\.url_allowlist\[0\]/,
      );
    },
  );

  it("prefers the engine block to the older entry for the worker socket, and warns", () => {
    const config = load(
      "engine: {bridge: {port: 6000}}\nworkers:\n  - name: iii-worker-manager\n    config: {port: 5000}\n",
    );
    expect(config.engine.bridge.port).toBe(6000);
    expect(config.warnings).toContain("engine.bridge.port (6000) overrides the older entry (5000)");
  });

  it("reads worker_path, and hands a worker's config block over as variables", () => {
    const [worker] = load(
      "workers:\n  - name: w\n    worker_path: ./w\n    config: {db: {host: box, port: 5432}, api-key: k, list: [1], none: null}\n    env: {API_KEY: mine}\n",
    ).localWorkers;
    expect(worker).toMatchObject({
      path: "/project/w",
      env: { DB_HOST: "box", DB_PORT: "5432", API_KEY: "mine", LIST: "[1]" },
    });
  });
});

describe("precedence", () => {
  const text =
    "engine: {bridge: {port: 1003}, data_dir: file, log_level: error}\nworkers: [{name: svc-http, config: {port: 2003}}, {name: svc-stream, config: {port: 3003}}]\n";
  const env = {
    SVC_BRIDGE_PORT: "1002",
    SVC_HTTP_PORT: "2002",
    SVC_WS_PORT: "3002",
    SVC_LOG_LEVEL: "WARN",
    SVC_DATA_DIR: "env",
  };
  const overrides = {
    bridgePort: 1001,
    httpPort: 2001,
    realtimePort: 3001,
    logLevel: "debug",
    dataDir: "flag",
  } as const;
  const summary = (config: LoadedConfig) => [
    config.engine.bridge.port,
    config.http.port,
    config.realtime.port,
    config.engine.logLevel,
    config.engine.dataDir,
  ];
  const sources = (config: LoadedConfig) =>
    Object.fromEntries(config.effective.map((setting) => [setting.key, setting.source]));

  it("is flag, environment, file, default, and the source is reported", () => {
    expect(summary(load(text, { env, overrides }))).toEqual([1001, 2001, 3001, "debug", "/cwd/flag"]);
    expect(summary(load(text, { env }))).toEqual([1002, 2002, 3002, "warn", "/cwd/env"]);
    expect(summary(load(text))).toEqual([1003, 2003, 3003, "error", "/project/file"]);
    expect(sources(load(text, { env, overrides: { httpPort: 1 } }))).toMatchObject({
      "engine.bridge.port": "env",
      "svc-http.port": "flag",
      "svc-stream.port": "env",
      "engine.drain_ms": "default",
      "engine.bridge.host": "default",
    });
    expect(load(text).effective).toContainEqual({ key: "engine.log_level", value: "error", source: "file" });
  });

  it("counts a variable that is set to nothing as not set", () => {
    expect(summary(load(text, { env: { SVC_BRIDGE_PORT: "", SVC_LOG_LEVEL: " ", SVC_DATA_DIR: "" } }))).toEqual(
      summary(load(text)),
    );
  });

  it("names a variable or flag that is wrong", () => {
    expect(
      problemsOf("", {
        env: { SVC_BRIDGE_PORT: "70000", SVC_HTTP_PORT: "0x10", SVC_LOG_LEVEL: "wran" },
        overrides: { realtimePort: -1, dataDir: "" },
      }),
    ).toEqual([
      '- -: the environment variable SVC_BRIDGE_PORT must be a port from 0 to 65535, got "70000"',
      '- -: the environment variable SVC_HTTP_PORT must be a port from 0 to 65535, got "0x10"',
      "- -: the port -1 of the command line must be an integer from 0 to 65535",
      expect.stringContaining("engine.data_dir of the command line is not a valid path"),
      '- -: the environment variable SVC_LOG_LEVEL must be one of debug, info, warn, error, got "wran"; did you mean warn?',
    ]);
  });
});

describe("a wrong config file", () => {
  it("is refused with everything that is wrong, in its order, with line, key and what is expected", () => {
    const text = `workers:
  - name: svc-sate
  - name: svc-state
    config:
      adaptor: x
      max_items: \${SECRET}
      adapter: {name: in_memry}
  - svc-http
  - name: w
    path: ./a
    env: {B: "\${NOPE}", 1C: x}
    replica: 3
  - path: x
engin: {}
port: 3
engine:
  bridge: {port: 99999}
  log_level: inf
  drain_ms: 1.5
`;
    expect(problemsOf(text, { env: { SECRET: "hunter2" } })).toEqual([
      '2 workers[0].name: no module is called "svc-sate"; did you mean svc-state? A local worker needs a path: `- name: NAME` with `path: ./workers/NAME` below it',
      '5 workers[1].config.adaptor: unknown key "adaptor"; did you mean adapter?',
      "6 workers[1].config.max_items: must be a number, got text from ${SECRET}",
      '7 workers[1].config.adapter.name: must be one of in_memory, file_based, kv, got the text "in_memry"; did you mean in_memory?',
      "8 workers[2]: must be a block of keys, got text; write `- name: svc-http`",
      "11 workers[3].env.B: the environment variable NOPE is not set and has no default; set it, or give it a default: ${NAME:default}",
      '11 workers[3].env["1C"]: a variable\'s name has letters, digits and _, and does not begin with a digit',
      '12 workers[3].replica: unknown key "replica"; did you mean replicas?',
      "13 workers[4].name: is missing; it must be text",
      '14 engin: unknown key "engin"; did you mean engine?',
      "15 port: is not a top-level key; write it as engine.bridge.port",
      "17 engine.bridge.port: must be at most 65535, got 99999",
      '18 engine.log_level: must be one of debug, info, warn, error, got the text "inf"; did you mean info?',
      "19 engine.drain_ms: must be a whole number, got 1.5",
    ]);
  });

  it("has file, line, column and key in its message", () => {
    expect(() => load("engine:\n  drain_ms: redis://me:secret@host\n")).toThrow(
      'must be a number, got the text "redis://***@host"',
    );
    expect(() => load("engine:\n  drain_ms: soon\n")).toThrow(
      '/project/config.yaml:2:13: engine.drain_ms: must be a number, got the text "soon"',
    );
  });

  it.each([
    ["workers:\n", "1 workers: must be a list of entries, got nothing (null); write `workers: []` for none"],
    ["modules: null\n", "1 modules: must be a list of entries, got nothing (null); write `modules: []` for none"],
    ["workers: {}\n", "1 workers: must be a list of entries, got a block of keys; each begins with `- name: …`"],
    ["- a\n", "1 -: the file must be a block of keys (workers, engine), got a list; the smallest one is `workers: []`"],
    [
      "workers: [{}]\n",
      "1 workers[0].name: is missing; it must be the name of a module, e.g. svc-state, or of a worker with a path",
    ],
    ["workers: [{name: a, image: b}]\n", expect.stringContaining("not from container images")],
    ["workers: [{name: a, path: null}]\n", "1 workers[0].path: must be text, got nothing (null)"],
    ["workers: [{name: a, path: ''}]\n", '1 workers[0].path: must have at least 1 character, got the text ""'],
    ["workers: [{name: a, path: ~/a}]\n", expect.stringContaining("`~` is not expanded")],
    ["workers: [{name: a, path: b, worker_path: c}]\n", expect.stringContaining("means the same as path")],
    ["workers: [{name: ../a, path: b}]\n", expect.stringContaining("contains other characters than letters")],
    ["workers: [{name: svc-state, path: b}]\n", expect.stringContaining("is the name of a module")],
    [
      "workers: [{name: svc-state, replicas: 2}]\n",
      "1 workers[0].replicas: is only for local workers (entries with a path); svc-state is a module",
    ],
    ["workers: [{name: a, path: b, replicas: 65}]\n", "1 workers[0].replicas: must be at most 64, got 65"],
    [
      "workers: [{name: a, path: b}, {name: a, path: c}]\n",
      '1 workers[1].name: "a" is already listed at config.yaml:1; names are unique',
    ],
    [
      "workers:\n  - {name: a, path: b}\n  - {name: c, path: ./x/../b/}\n",
      "3 workers[1].path: the same folder is listed at config.yaml:2; for more processes write `replicas: 2` there (up to 64)",
    ],
    [
      "modules: [{class: 'modules::state::StatModule'}]\n",
      '1 modules[0].class: no module has the class "modules::state::StatModule"; did you mean modules::state::StateModule?',
    ],
    ["modules: [{class: 'modules::state::StateModule', name: a}]\n", expect.stringContaining("not both")],
    [
      "modules: [{name: svc-state, config: {adapter: {class: 'modules::x::Odd'}}}]\n",
      expect.stringContaining("no adapter has this class"),
    ],
    [
      "workers: [{name: svc-state, config: {adapter: {name: kv, config: {store_method: file}}}}]\n",
      '1 workers[0].config.adapter.config.store_method: must be one of in_memory, file_based, got the text "file"',
    ],
    [
      "workers: [{name: svc-state, config: {adapter: file_based}}]\n",
      '1 workers[0].config.adapter: must be a block of keys, got the text "file_based"',
    ],
    [
      "workers: [{name: svc-state, config: {adapter: {name: file_based, config: {quick: true}}}}]\n",
      '1 workers[0].config.adapter.config.quick: unknown key "quick"; known here: sync',
    ],
    [
      "workers: [{name: svc-state, config: {adapter: {name: kv, config: {store_method: in_memory, quick: true}}}}]\n",
      '1 workers[0].config.adapter.config.quick: unknown key "quick"; known here: store_method',
    ],
    [
      "workers: [{name: svc-state, config: {adapter: {name: in_memory, config: {}}}}]\n",
      expect.stringMatching(/adapter\.config: unknown key "config"/),
    ],
    [
      "workers: [{name: svc-http, config: {host: 0.0.0.0}}]\n",
      expect.stringMatching(/svc-http\.host is 0\.0\.0\.0, .*set engine\.token .*or bind svc-http\.host/),
    ],
    [
      "engine: {bridge: {host: example.com}}\n",
      expect.stringMatching(/engine\.bridge\.host is example\.com, .*--insecure-bind/),
    ],
    [
      "engine: {bridge: {host: 'a b'}}\n",
      expect.stringContaining("engine.bridge.host: must be an address of this machine"),
    ],
    [
      "engine: {bridge: {port: 3111}}\n",
      "- -: the worker socket (engine.bridge) and the HTTP listener (svc-http) both use port 3111; change one of them",
    ],
    ["engine: {allowed_origins: ['*']}\n", expect.stringContaining("must be an origin")],
    ["engine: {allowed_origins: ['null']}\n", expect.stringContaining("must be an origin")],
    ["engine: {allowed_hosts: ['http://x']}\n", expect.stringContaining("must be a host name")],
    ["engine: {allowed_hosts: ['localhost:0']}\n", expect.stringContaining("must be a host name")],
    ["engine: {allowed_hosts: ['*:80']}\n", expect.stringContaining("must be a host name")],
    ["engine: 5\n", "1 engine: must be a block of keys, got 5"],
    ["data_dir: x\n", "1 data_dir: is not a top-level key; write it as engine.data_dir"],
    [
      "workers:\n  - name: svc-http\n    config: {port: 1}\n  - name: svc-http\n    config: {port: 2}\n",
      expect.stringContaining("an earlier entry sets 1"),
    ],
    [
      "workers: [{name: svc-http, config: {body_limit: []}}]\n",
      "1 workers[0].config.body_limit: must be a number or text, got a list",
    ],
  ])("is refused: %j", (text, problem) => {
    expect(problemsOf(text)).toEqual([problem]);
  });

  it.each(["127.0.0.1", "127.1.2.3", "::1", "0:0:0:0:0:0:0:1", "LocalHost"])(
    "is not one that names the loopback host %s",
    (host) => {
      expect(load(`engine: {bridge: {host: '${host}'}}`).engine.bridge.host).toBe(host);
    },
  );

  it("never fails with anything but ConfigError, whatever the text", () => {
    const token = fc.constantFrom(
      "workers:",
      "engine:",
      "modules:",
      "\n",
      "\n  ",
      "\n    ",
      "- ",
      "name: ",
      "path: ",
      "config: ",
      "svc-http",
      "svc-state",
      "iii-worker-manager",
      "class: ",
      "adapter: ",
      "port: ",
      "host: ",
      "env: ",
      "bridge: ",
      "[",
      "]",
      "{",
      "}",
      ",",
      ": ",
      "5",
      "null",
      "&a ",
      "*a",
      "${X}",
      "${HOME:x}",
      "'",
      "constructor: ",
      "__proto__: ",
      "toString",
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(token, { maxLength: 40 }).map((parts) => parts.join("")),
          fc.string({ unit: character }),
          fc.json(),
        ),
        (text) => {
          problemsOf(text, { env: { X: text } });
        },
      ),
      { numRuns: 400 },
    );
  });
});

describe("reading the file", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "svc-config-load-"));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });
  const loadFile = (file: string): LoadedConfig => loadConfig(file, { env: {}, modules });

  it("resolves paths relative to the file and returns a revision of its content", async () => {
    const file = join(folder, "config.yaml");
    await writeFile(file, "\ufeffworkers: [{name: w, path: w}]\n");
    const first = loadFile(file);
    expect(first.localWorkers[0]?.path).toBe(join(folder, "w"));
    expect(first.engine.dataDir).toBe(join(folder, ".svc/data"));
    await writeFile(file, "workers: []\n");
    expect(loadFile(file).revision).not.toBe(first.revision);
  });

  it("says what is wrong with a file that cannot be read", async () => {
    const file = join(folder, "config.yaml");
    expect(() => loadFile(file)).toThrow(`${file}: there is no such file; create it with the line \`workers: []\``);
    await mkdir(file);
    expect(() => loadFile(file)).toThrow("is a folder");
    await rm(file, { recursive: true });
    await writeFile(file, Buffer.from([0x61, 0x3a, 0x20, 0xff, 0xfe]));
    expect(() => loadFile(file)).toThrow("is not UTF-8");
    await truncate(file, 1_048_577);
    expect(() => loadFile(file)).toThrow("is larger than the maximum of 1048576 bytes");
    expect(() => loadFile("/dev/zero")).toThrow("is not a regular file");
  });
});

describe("access to the bridges", () => {
  it("is read from the engine's blocks with everything filled in", () => {
    const config = load(
      `engine:
  token: a-token-of-the-engine
  bridge: {middleware_function_id: mw}
  bridges:
    - port: 5001
      host: 0.0.0.0
      tls: {cert: tls/cert.pem, key: /etc/key.pem}
      rbac:
        auth_function_id: auth::check
        expose_functions: ['match("api::*")', {metadata: {public: true}}]
    - port: 5002
      rbac:
        roles: {reader: {allowed_functions: ["orders::*"]}}
        tokens: [{token: "\${READER}", role: reader}]
`,
      { env: { READER: "a-token-of-a-reader" } },
    );
    expect(config.engine.bridgeAccess).toEqual({ tokenRequired: false, rbac: undefined, middlewareFunctionId: "mw" });
    expect(config.engine.bridges).toMatchObject([
      {
        address: { host: "0.0.0.0", port: 5001, tls: { cert: "/project/tls/cert.pem", key: "/etc/key.pem" } },
        access: {
          tokenRequired: false,
          rbac: { authFunctionId: "auth::check", exposeFunctions: ['match("api::*")', { metadata: { public: true } }] },
        },
      },
      {
        address: { host: "127.0.0.1", port: 5002 },
        access: { tokenRequired: false, rbac: { tokens: [{ token: "a-token-of-a-reader", role: "reader" }] } },
      },
    ]);
    expect(JSON.stringify(config.effective)).not.toMatch(/a-token-of/);
  });

  it("may be named as the reference names it: several entries, the first of which is the main one", () => {
    const config = load(`workers:
  - name: iii-worker-manager
    config: {port: 5000, handshake_timeout_ms: 10000}
  - name: iii-worker-manager
    config:
      port: 5001
      middleware_function_id: mw
      rbac:
        auth_function_id: auth::check
        on_trigger_registration_function_id: hook
        expose_functions: ["match('api::*')"]
`);
    expect(config.engine.bridge).toEqual({ host: "127.0.0.1", port: 5000 });
    expect(config.engine.bridges).toMatchObject([
      {
        address: { port: 5001 },
        access: {
          middlewareFunctionId: "mw",
          rbac: { onTriggerRegistrationFunctionId: "hook", exposeFunctions: ["match('api::*')"] },
        },
      },
    ]);
  });

  it("wants a token in production and off loopback, unless a function decides or nothing is to be secure", () => {
    const required = (text: string, options: Partial<LoadOptions> = {}): boolean =>
      load(text, options).engine.bridgeAccess.tokenRequired;
    const off = "host: 0.0.0.0";
    expect(required("")).toBe(false);
    expect(required("engine: {mode: production}")).toBe(true);
    expect(required("", { overrides: { mode: "production" } })).toBe(true);
    expect(required("", { env: { SVC_MODE: "production" } })).toBe(true);
    expect(required(`engine: {bridge: {${off}}}`, { hasStoredToken: true })).toBe(true);
    expect(required(`engine: {bridge: {${off}, rbac: {auth_function_id: f}}}`, { hasStoredToken: true })).toBe(false);
    expect(required(`engine: {insecure_bind: true, bridge: {${off}}}`)).toBe(false);
    expect(required("engine: {bridge: {token: required}}")).toBe(true);
  });

  it.each([
    ["{rbac: {expose_functions: ['api::*']}}", /expose_functions\[0\]/],
    ["{rbac: {tokens: [{token: 0123456789abcdef, role: r}]}}", /tokens\[0\]\.role: is not a role/],
    ["{rbac: {rules: 1}}", /unknown key "rules"/],
    ["{token: required, rbac: {auth_function_id: f}}", /exclude each other/],
    ["{tls: {cert: c}}", /tls\.key: is missing/],
  ])("is refused as %s", (block, problem) => {
    expect(problemsOf(`engine: {bridge: ${block}}`).join("\n")).toMatch(problem);
  });

  it("is refused when a role's token is the engine's own, or another role's", () => {
    const roles = "roles: {r: {}}, tokens: [{token: 0123456789abcdef, role: r}, {token: 0123456789abcdef, role: r}]";
    const problems = problemsOf(`engine: {token: 0123456789abcdef, bridge: {rbac: {${roles}}}}`).join("\n");
    expect(problems).toContain("is the engine's own");
    expect(problems).toContain("have the same token");
  });
});
