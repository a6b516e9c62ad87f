import { describe, expect, it } from "vitest";
import { z } from "zod";
import { diffConfig } from "./diff.ts";
import { parseConfig } from "./load.ts";
import type { LoadedConfig } from "./types.ts";

const modules = ["svc-state", "svc-http"].map((name) => ({ name, config: z.record(z.string(), z.unknown()) }));
const load = (text: string): LoadedConfig => parseConfig("/project/config.yaml", text, { env: {}, modules });

describe("diffConfig", () => {
  it("finds nothing when only places, order and comments differ", () => {
    const before = load("workers: [{name: svc-state, config: {a: 1, b: 2}}, {name: w, path: w}]");
    const after = load(
      "# moved\nengine: {}\nworkers:\n  - {name: w, path: ./w, replicas: 1}\n  - {name: svc-state, config: {b: 2, a: 1}}\n",
    );
    expect(diffConfig(before, before).isEmpty).toBe(true);
    expect(diffConfig(before, after).localWorkers.changed).toHaveLength(1);
    expect(
      diffConfig(before, load("# moved\nworkers: [{name: w, path: w}, {name: svc-state, config: {b: 2, a: 1}}]"))
        .isEmpty,
    ).toBe(true);
  });

  it("pairs modules by instance and workers by name", () => {
    const before = load(
      "workers: [{name: svc-state}, {name: svc-state, config: {a: 1}}, {name: gone, path: gone}, {name: kept, path: kept}]",
    );
    const after = load(
      "workers: [{name: svc-state}, {name: svc-state, config: {a: 2}}, {name: svc-http}, {name: kept, path: kept, env: {A: b}}, {name: new, path: new}]",
    );
    const diff = diffConfig(before, after);
    expect(diff.modules.added.map((entry) => entry.instance)).toEqual(["svc-http"]);
    expect(diff.modules.removed).toEqual([]);
    expect(diff.modules.changed.map((change) => [change.before.config, change.after.config])).toEqual([
      [{ a: 1 }, { a: 2 }],
    ]);
    expect(diff.localWorkers.added.map((entry) => entry.name)).toEqual(["new"]);
    expect(diff.localWorkers.removed.map((entry) => entry.name)).toEqual(["gone"]);
    expect(diff.localWorkers.changed.map((change) => change.after.name)).toEqual(["kept"]);
    expect(diff.isEmpty).toBe(false);
  });

  it("lists changed addresses and settings, and which of them need a restart", () => {
    const before = load("workers: []");
    const after = load(
      "engine: {bridge: {port: 5000}, data_dir: d, drain_ms: 1, allowed_hosts: [a]}\nworkers: [{name: svc-http, config: {port: 4111}}]",
    );
    const diff = diffConfig(before, after);
    expect(diff.http).toEqual({ before: { host: "127.0.0.1", port: 3111 }, after: { host: "127.0.0.1", port: 4111 } });
    expect(diff.realtime).toBeUndefined();
    expect(diff.settings.map(({ key, needsRestart }) => [key, needsRestart])).toEqual([
      ["engine.bridge", true],
      ["engine.data_dir", true],
      ["engine.drain_ms", false],
      ["engine.allowed_hosts", false],
    ]);
    expect(diff.warnings).toEqual([
      "engine.bridge changed from 127.0.0.1:49134 to 127.0.0.1:5000; it takes effect when the engine restarts",
      "engine.data_dir changed from /project/.svc/data to /project/d; it takes effect when the engine restarts",
    ]);
  });
});
