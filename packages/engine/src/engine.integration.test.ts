import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { ENGINE_NAMESPACES, isEngineFunction } from "./access/engine-ids.ts";
import { type RunningEngine, startEngine } from "./engine.ts";
import { createLogger, type LogRecord } from "./kernel/logger.ts";
import { loadModules } from "./modules/index.ts";

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

interface Started {
  readonly engine: RunningEngine;
  readonly dir: string;
  edit(text: string): void;
  /** Resolves with the first log record, past or future, whose message contains the text. */
  logged(text: string): Promise<LogRecord>;
  invoke(functionId: string, payload?: unknown): Promise<{ status: number; body: unknown }>;
}

async function start(config: string, dir = mkdtempSync(join(tmpdir(), "svc-engine-test-"))): Promise<Started> {
  const file = join(dir, "config.yaml");
  writeFileSync(file, config);
  const records: LogRecord[] = [];
  const watchers = new Set<() => void>();
  const logger = createLogger({
    level: "info",
    now: () => Date.now(),
    write(record) {
      records.push(record);
      for (const watcher of watchers) watcher();
    },
  });
  const engine = await startEngine({
    configFile: file,
    logger,
    env: {},
    overrides: { bridgePort: 0, realtimePort: 0 },
  });
  undo.push(() => rmSync(dir, { recursive: true, force: true }));
  undo.push(() => engine.stop({ graceMs: 0 }));
  return {
    engine,
    dir,
    edit: (text) => writeFileSync(file, text),
    logged: (text) =>
      new Promise((resolve) => {
        const look = (): void => {
          const at = records.findIndex(({ message }) => message.includes(text));
          if (at === -1) return;
          watchers.delete(look);
          resolve(records.splice(at, 1)[0] as LogRecord);
        };
        watchers.add(look);
        look();
      }),
    async invoke(function_id, payload = {}) {
      const response = await fetch(`${engine.addresses.http}/_console/invoke`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ function_id, payload }),
      });
      return { status: response.status, body: await response.json() };
    },
  };
}

const base = (more = ""): string =>
  `workers:\n  - name: svc-http\n    config: {port: 0}\n${more}engine:\n  bridge: {port: 0}\n`;

describe("a running engine", () => {
  it("keeps its own lines as log entries of its own service, each once", async () => {
    const { logged, invoke } = await start(base("  - name: svc-observability\n    config: {service_name: till}\n"));
    expect(Object.keys((await logged("the engine is up")).fields)).toEqual(["bridge", "http", "realtime", "version"]);
    const { body } = await invoke("engine::logs::list", { text: "the engine is up" });
    expect(JSON.stringify(body)).toContain('"service_name":"till"');
    expect(JSON.stringify(body)).toContain('"total":1');
  });

  it("has no function, with every module, that jobs and triggers of restricted workers may call, and one in each namespace that these may not", async () => {
    const others = (await loadModules()).map(({ name }) => name).filter((name) => name !== "svc-http");
    const { invoke } = await start(base(others.map((name) => `  - name: ${name}\n`).join("")));
    const { body } = await invoke("engine::functions::list", { include_internal: true });
    const ids = (body as { functions: { function_id: string }[] }).functions.map(({ function_id }) => function_id);
    expect(ids.filter((id) => !isEngineFunction(id))).toEqual([]);
    expect([...ENGINE_NAMESPACES].filter((name) => !ids.some((id) => id.startsWith(`${name}::`)))).toEqual([]);
  });

  it("says who it is and what it runs", async () => {
    const { engine, invoke, dir } = await start(base());
    const { status, body } = await invoke("engine::info");
    expect(status).toBe(200);
    expect(body).toMatchObject({
      instance_id: engine.instanceId,
      pid: process.pid,
      config_file: join(dir, "config.yaml"),
      addresses: engine.addresses,
      modules: [
        { name: "svc-observability", state: "running" },
        { name: "svc-http", state: "running" },
      ],
    });
  });

  it("loads, reconfigures and stops modules as its file changes", async () => {
    const { edit, logged, invoke } = await start(base());
    const set = { scope: "s", key: "k", value: 1 };
    expect((await invoke("state::set", set)).status).toBe(404);
    edit(base("  - name: svc-state\n    config: {adapter: {name: in_memory}}\n"));
    expect((await logged("the config file was applied")).fields).toEqual({ added: ["svc-state"] });
    expect((await invoke("state::set", set)).status).toBe(200);
    edit(base());
    expect((await logged("the config file was applied")).fields).toEqual({ removed: ["svc-state"] });
    expect((await invoke("state::set", set)).status).toBe(404);
  });

  it("reports a bad edit with file, line, key and expectation, and goes on as it was (gap 50)", async () => {
    const { edit, logged, invoke, dir } = await start(
      base("  - name: svc-state\n    config: {adapter: {name: in_memory}}\n"),
    );
    expect((await invoke("state::set", { scope: "s", key: "k", value: 1 })).status).toBe(200);
    edit(base("  - name: svc-state\n    config: {adaptor: {name: in_memory}}\n"));
    const { fields } = await logged("the config file is invalid; the running configuration stays");
    expect(fields.problems).toMatch(
      new RegExp(`${join(dir, "config.yaml")}:5:\\d+: workers\\[1\\]\\.config\\.adaptor: .*adapter`),
    );
    expect((await invoke("state::get", { scope: "s", key: "k" })).body).toBe(1);
    edit("workers: [oops");
    expect((await logged("the config file is invalid")).fields.problems).toContain(join(dir, "config.yaml"));
    expect((await invoke("state::get", { scope: "s", key: "k" })).body).toBe(1);
  });

  it("shows no secret of a bad edit", async () => {
    const { edit, logged } = await start(base());
    for (const headers of [
      '"authorization=Bearer 70707070707070"',
      '["authorization: Bearer 70707070707070"]',
      "{authorization: 70707070707070}",
    ]) {
      edit(base(`  - name: svc-observability\n    config: {headers: ${headers}}\n`));
      const { fields } = await logged("the config file is invalid; the running configuration stays");
      expect(fields.problems).toContain("workers[1].config.headers");
      expect(fields.problems).not.toContain("70707070707070");
    }
  });

  it("reports an edit that names a variable which is not set, and goes on as it was (gap 50)", async () => {
    const { edit, logged, invoke, dir } = await start(
      base("  - name: svc-state\n    config: {adapter: {name: in_memory}}\n"),
    );
    expect((await invoke("state::set", { scope: "s", key: "k", value: 1 })).status).toBe(200);
    edit(base(`  - name: svc-state\n    config:\n      adapter:\n        name: $${"{NOT_SET_ANYWHERE}"}\n`));
    const { fields } = await logged("the config file is invalid; the running configuration stays");
    expect(fields.problems).toContain(`${join(dir, "config.yaml")}:7:`);
    expect(fields.problems).toContain("NOT_SET_ANYWHERE");
    expect((await invoke("state::get", { scope: "s", key: "k" })).body).toBe(1);
  });

  it("takes back all of an edit that is right in itself when a module cannot start with it (gap 50)", async () => {
    const { edit, logged, invoke, dir } = await start(
      base("  - name: svc-state\n    config: {adapter: {name: in_memory}}\n"),
    );
    writeFileSync(join(dir, "file"), "");
    edit(
      base(
        `  - name: svc-state\n    config: {adapter: {name: file_based, config: {file_path: ${join(dir, "file", "state.db")}}}}\n`,
      ),
    );
    const { fields } = await logged("the config file could not be applied; the running configuration stays");
    expect(String(fields.problems)).toContain("svc-state");
    expect((await invoke("state::set", { scope: "s", key: "k", value: 1 })).status).toBe(200);
  });

  it("goes back to what ran when a new address cannot be bound (gap 50)", async () => {
    const other = await start(base());
    const taken = Number(new URL(other.engine.addresses.http).port);
    const { edit, logged, invoke } = await start(base());
    edit(base().replace("port: 0", `port: ${taken}`));
    const { fields } = await logged("the config file could not be applied; the running configuration stays");
    expect(String((fields.error as Error).message)).toContain(`port ${taken} is in use`);
    expect((await invoke("engine::info")).status).toBe(200);
  });

  it("refuses a second engine on the same data folder, and gives the folder back when it stops", async () => {
    const first = await start(base());
    await expect(start(base(), first.dir)).rejects.toThrow(/in use by/);
    await first.engine.stop({ graceMs: 0 });
    await start(base(), first.dir);
  });

  it("does not start on a port that is taken, and leaves nothing behind", async () => {
    const first = await start(base());
    const taken = Number(new URL(first.engine.addresses.bridge).port);
    const dir = mkdtempSync(join(tmpdir(), "svc-engine-test-"));
    undo.push(() => rmSync(dir, { recursive: true, force: true }));
    writeFileSync(join(dir, "config.yaml"), base());
    const attempt = startEngine({
      configFile: join(dir, "config.yaml"),
      env: {},
      overrides: { bridgePort: taken, realtimePort: 0 },
    });
    await expect(attempt).rejects.toThrow(`port ${taken} is in use`);
    await start(base(), dir);
  });

  it("finishes calls in flight when it stops, refuses new ones, and hangs up on its workers", async () => {
    const { engine, logged } = await start(base());
    const socket = new WebSocket(engine.addresses.bridge);
    const frames: Record<string, unknown>[] = [];
    const arrivals = new Set<() => void>();
    socket.on("message", (data) => {
      frames.push(JSON.parse(String(data)) as Record<string, unknown>);
      for (const arrival of arrivals) arrival();
    });
    const next = (type: string): Promise<Record<string, unknown>> =>
      new Promise((resolve) => {
        const look = (): void => {
          const at = frames.findIndex((frame) => frame.type === type);
          if (at === -1) return;
          arrivals.delete(look);
          resolve(frames.splice(at, 1)[0] as Record<string, unknown>);
        };
        arrivals.add(look);
        look();
      });
    await once(socket, "open");
    const closed = once(socket, "close");
    socket.send(JSON.stringify({ type: "registerfunction", id: "slow" }));
    const id = crypto.randomUUID();
    socket.send(JSON.stringify({ type: "invokefunction", invocation_id: id, function_id: "slow", data: 1 }));
    await next("invokefunction");

    const stopped = engine.stop();
    await logged("finishing calls in flight");
    const http = new URL(engine.addresses.http);
    const ready = await fetch(new URL("/readyz", http));
    expect(ready.status).toBe(503);
    socket.send(JSON.stringify({ type: "invocationresult", invocation_id: id, function_id: "slow", result: "done" }));

    expect(await next("invocationresult")).toMatchObject({ invocation_id: id, result: "done" });
    await stopped;
    expect((await closed)[0]).toBe(1006);
    await expect(fetch(new URL("/healthz", http))).rejects.toThrow();
  });
});
