import { describe, expect, it } from "vitest";
import { loadModules } from "../modules/index.ts";
import { parseConfig } from "./load.ts";
import type { LoadedConfig } from "./types.ts";

const modules = await loadModules();
const SHARED = ["svc-state", "svc-stream", "svc-queue", "svc-cron"];
const CLUSTER = "engine: {cluster: {name: shop, node: a, nats: {servers: [nats://127.0.0.1:4222]}}}\n";

const load = (text: string): LoadedConfig => parseConfig("/p/config.yaml", text, { env: {}, modules });
const entry = (name: string, adapter: string): string =>
  `workers:\n  - {name: ${name}, config: {adapter: ${adapter}}}\n`;

describe("adapters in a cluster", () => {
  it.each(SHARED)("%s uses the cluster by default, and a file with local: true", (name) => {
    expect(load(`${CLUSTER}workers:\n  - name: ${name}\n`).modules[0]?.config).toEqual({
      adapter: { name: "cluster" },
    });
    const local = load(CLUSTER + entry(name, "{name: file_based, config: {local: true}}")).modules[0]?.config;
    expect(local).toMatchObject({ adapter: { name: "file_based" } });
  });

  const files: readonly (readonly [string, string])[] = [
    ...SHARED.map((name) => [name, "file_based"] as const),
    ["svc-state", "kv"],
    ["svc-queue", "builtin"],
  ];
  it.each(files)("%s with %s is refused, because it would not be shared", (name, adapter) => {
    expect(() => load(CLUSTER + entry(name, `{name: ${adapter}}`))).toThrow(
      "remove the adapter to share them, or write `adapter: {name: file_based, config: {local: true}}`",
    );
  });

  it("leaves adapters that say what they are", () => {
    for (const [name, adapter] of [
      ["svc-state", "redis"],
      ["svc-queue", "in_memory"],
    ] as const)
      expect(load(CLUSTER + entry(name, `{name: ${adapter}}`)).modules[0]?.config).toEqual({
        adapter: { name: adapter },
      });
    expect(load(CLUSTER + entry("svc-cron", "{name: redis}")).modules[0]?.config).toEqual({
      adapter: { name: "cluster" },
    });
  });

  it("changes nothing for an engine that is alone, and refuses the adapter cluster there", () => {
    expect(load("workers:\n  - name: svc-state\n").modules[0]?.config).toEqual({});
    expect(load("workers: []").engine.cluster).toBeUndefined();
    expect(() => load(entry("svc-queue", "{name: cluster}"))).toThrow("cluster needs the block engine.cluster");
  });
});

describe("the block engine.cluster", () => {
  const withNats = (nats: string): string => `engine: {cluster: {name: shop, node: a, nats: ${nats}}}\n`;

  it("has defaults", () => {
    const servers = [
      "nats://127.0.0.1:4222",
      "nats://127.0.0.1:4223",
      "nats://127.0.0.1:4224",
      "nats://127.0.0.1:4225",
    ];
    const { cluster } = load(withNats(`{servers: [${servers.join(", ")}]}`)).engine;
    expect(cluster).toMatchObject({ name: "shop", node: "a", nats: { servers, replicas: 3 } });
    expect(load(CLUSTER).engine.cluster?.nats.replicas).toBe(1);
    const unnamed = load("engine: {cluster: {name: shop, nats: {servers: [nats://127.0.0.1:4222]}}}").engine.cluster;
    expect(unnamed?.node).toMatch(/^[A-Za-z0-9]/);
  });

  it("has paths relative to the file, and masks secrets", () => {
    const { engine, effective } = load(
      withNats("{servers: [nats://10.0.0.1:4222], user: ada, password: hunter2, tls: {ca: ca.pem}}"),
    );
    expect(engine.cluster?.nats).toMatchObject({ tls: { ca: "/p/ca.pem" }, user: "ada", password: "hunter2" });
    expect(JSON.stringify(effective)).not.toContain("hunter2");
  });

  it.each([
    ["{servers: []}", "servers"],
    ["{servers: [localhost]}", "must be the address of a NATS server"],
    ["{servers: [nats://ada:secret@127.0.0.1:4222]}", "without user or password"],
    ["{servers: [nats://10.0.0.1:4222]}", "needs tls, because a server is on another machine"],
    ["{servers: [nats://127.0.0.1:4222], user: ada}", "needs user and password together"],
    ["{servers: [nats://127.0.0.1:4222], token: a, user: b, password: c}", "keep one"],
    ["{servers: [nats://127.0.0.1:4222], nkey_seed: SUX}", "must be the seed of an NKey"],
    ["{servers: [nats://127.0.0.1:4222], tls: {cert: a.pem}}", "needs cert and key together"],
  ])("refuses %s", (nats, message) => {
    expect(() => load(withNats(nats))).toThrow(message);
    expect(() => load(withNats(nats))).not.toThrow("secret");
  });
});
