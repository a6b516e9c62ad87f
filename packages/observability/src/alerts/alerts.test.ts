import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineModule } from "@svc-runtime/engine/module";
import {
  accessOfRole,
  accessTo,
  endpoint,
  type InMemoryEngine,
  inMemoryEngine,
  json,
  manualClock,
} from "@svc-runtime/engine/testing";
import { afterEach, describe, expect, it } from "vitest";
import { type ObservabilityConfig, observabilityConfigSchema } from "../config.ts";
import type { MetricReader } from "../metrics/reader.ts";
import { type AlertFunctions, provideAlerts } from "./functions.ts";

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

type Answer = Record<string, unknown>;

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "svc-alerts-"));
  cleanUps.push(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Returns an engine with the metric values that the test sets. */
async function alerting(alerts: readonly unknown[] = [], dataDir = folder()) {
  const values = new Map<string, number>();
  const reader: MetricReader = {
    refresh: () => {},
    missing: () => undefined,
    value: (metric) => values.get(metric) ?? null,
    problem: () => undefined,
  };
  let functions: AlertFunctions | undefined;
  const module = defineModule<ObservabilityConfig>({
    name: "svc-observability",
    summary: "under test",
    config: observabilityConfigSchema,
    async start(context) {
      const made = await provideAlerts(context, reader);
      functions = made;
      return {
        reconfigure: (next) => made.reconfigure(next.alerts),
        stop: () => made.stop(),
      };
    },
  });
  const clock = manualClock();
  const engine: InMemoryEngine = await inMemoryEngine({
    modules: [module],
    config: { "svc-observability": { alerts } },
    clock,
    dataDir,
  });
  let running = true;
  const stop = async (): Promise<void> => {
    if (running) await engine.stop();
    running = false;
  };
  cleanUps.push(stop);
  const call = async (what: string, input: unknown = {}): Promise<Answer> =>
    (await engine.call(`engine::alerts::${what}`, input)) as Answer;
  return {
    engine,
    clock,
    values,
    call,
    stop,
    dataDir,
    reconfigure: (next: readonly unknown[]) =>
      functions?.reconfigure(observabilityConfigSchema.parse({ alerts: next }).alerts),
    async state(name: string): Promise<Answer> {
      const { alerts: all } = (await call("list")) as { alerts: Answer[] };
      const found = all.find((alert) => alert.name === name);
      if (found === undefined) throw new Error(`there is no alert ${name}`);
      return found;
    },
    async until(what: string, look: () => boolean | Promise<boolean>): Promise<void> {
      const end = performance.now() + 25_000;
      while (!(await look())) {
        if (performance.now() > end) throw new Error(`it did not come to this in 25 s: ${what}`);
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}

const errors = { name: "errors", metric: "errors", threshold: 10 };

describe("alerts", () => {
  it("are evaluated every 5 s and logged when they fire and resolve (gap 46)", async () => {
    const { clock, values, engine, call, state } = await alerting([errors]);
    expect(await state("errors")).toMatchObject({
      firing: false,
      current_value: null,
      last_evaluated: null,
      operator: "GreaterThan",
      source: "config",
    });
    values.set("errors", 11);
    clock.advance(5_000);
    expect(await call("list")).toMatchObject({ firing_count: 1 });
    expect(await state("errors")).toMatchObject({
      firing: true,
      current_value: 11,
      last_triggered: clock.now(),
      last_evaluated: clock.now(),
    });
    values.set("errors", 0);
    clock.advance(5_000);
    expect(await state("errors")).toMatchObject({ firing: false, last_resolved: clock.now() });
    expect(
      engine.logs.filter(({ message }) => message.startsWith("an alert")).map(({ level, message }) => [level, message]),
    ).toEqual([
      ["warn", "an alert fires"],
      ["info", "an alert has resolved"],
    ]);
  });

  it("keep their history, in pages, the latest first (gap 46)", async () => {
    const { clock, values, call, engine } = await alerting([errors, { ...errors, name: "other", metric: "other" }]);
    for (const value of [11, 0, 11]) {
      values.set("errors", value);
      clock.advance(5_000);
    }
    values.set("other", 11);
    clock.advance(5_000);
    const first = await call("history", { name: "errors", limit: 2 });
    expect(first).toMatchObject({ events: [{ state: "firing" }, { state: "resolved" }], total: 3 });
    expect(await call("history", { name: "errors", limit: 2, cursor: first.cursor })).toMatchObject({
      events: [{ state: "firing" }],
      cursor: null,
    });
    expect(((await call("history")).events as Answer[])[0]).toEqual({
      name: "other",
      metric: "other",
      value: 11,
      threshold: 10,
      operator: "GreaterThan",
      firing: true,
      timestamp: clock.now(),
      state: "firing",
      labels: {},
      window_seconds: 60,
      instance_id: engine.kernel.identity.instanceId,
      silenced: false,
    });
  });

  it("are published on the stream svc.alerts as they change", async () => {
    const { clock, values, call, engine } = await alerting([errors]);
    const socket = engine.openSocket("/");
    cleanUps.push(() => socket.close());
    socket.say({ type: "join", data: { subscriptionId: "s", streamName: "svc.alerts", groupId: "all" } });
    expect(await socket.next()).toMatchObject({ event: { type: "sync", data: [{ name: "errors", firing: false }] } });
    values.set("errors", 11);
    clock.advance(5_000);
    expect(await socket.next()).toMatchObject({
      id: "errors",
      event: { type: "update", data: { firing: true, current_value: 11 } },
    });
    await call("create", { ...errors, name: "mine" });
    expect(await socket.next()).toMatchObject({ id: "mine", event: { type: "create", data: { source: "runtime" } } });
    await call("delete", { name: "mine" });
    expect(await socket.next(({ event }) => (event as Answer).type === "delete")).toMatchObject({ id: "mine" });
  });

  it("keep no more than the last 1,000 events", async () => {
    const { clock, values, call } = await alerting([errors]);
    for (let turn = 1; turn <= 2_100; turn++) {
      values.set("errors", turn % 2 === 1 ? 11 : 0);
      clock.advance(5_000);
    }
    expect(await call("history", { limit: 1 })).toMatchObject({
      total: 1_000,
      events: [{ state: "resolved", timestamp: clock.now() }],
    });
  });

  it("answer what began to fire when they are evaluated by hand", async () => {
    const { values, call } = await alerting([errors]);
    values.set("errors", 11);
    expect(await call("evaluate")).toMatchObject({
      evaluated: 1,
      triggered_alerts: [{ name: "errors", firing: true }],
    });
    expect(await call("evaluate")).toMatchObject({ evaluated: 1, triggered_alerts: [] });
  });

  it("post to a webhook when they fire and when they resolve, and try again when that fails (gap 46)", async () => {
    const statuses = [500, 200, 204];
    const hook = await endpoint((_request, response) => json(response, {}, statuses.shift()));
    cleanUps.push(() => hook.stop());
    const { clock, values, until, state } = await alerting([
      { ...errors, action: { type: "webhook", url: `http://127.0.0.1:${hook.port}/in?key=secret` } },
    ]);
    values.set("errors", 11);
    clock.advance(5_000);
    expect(JSON.parse((await hook.next()).body)).toMatchObject({
      alert: "errors",
      metric: "errors",
      value: 11,
      threshold: 10,
      firing: true,
      state: "firing",
    });
    // The pause before the second try has begun when its timer is set.
    await until("a second try", () => {
      clock.advance(1_000);
      return hook.requests.length === 2;
    });
    values.set("errors", 0);
    clock.advance(5_000);
    await until("the resolved notice", () => hook.requests.length >= 3);
    expect(JSON.parse(hook.requests[2]?.body ?? "")).toMatchObject({
      alert: "errors",
      firing: false,
      state: "resolved",
    });
    expect(await state("errors")).toMatchObject({
      action_failures: 0,
      action: { type: "webhook", url: `http://127.0.0.1:${hook.port}/***` },
    });
  });

  it("count and log a notification that fails three times", async () => {
    const hook = await endpoint((_request, response) => json(response, {}, 503));
    cleanUps.push(() => hook.stop());
    const { clock, values, until, state, engine } = await alerting([
      { ...errors, action: { type: "webhook", url: `http://127.0.0.1:${hook.port}/` } },
    ]);
    values.set("errors", 11);
    clock.advance(5_000);
    await until("the end of the tries", async () => {
      clock.advance(500);
      return (await state("errors")).action_failures === 1;
    });
    expect(hook.requests).toHaveLength(3);
    expect(await state("errors")).toMatchObject({ last_action_error: "the webhook responded with status 503" });
    expect(engine.logs.map(({ message }) => message)).toContain("alert notification failed");
  });

  it("call a function, whose failure is counted and harms nothing (gap 46)", async () => {
    const { clock, values, engine, until, state } = await alerting([
      { ...errors, action: { type: "function", path: "ops::page" } },
    ]);
    const worker = await engine.connectWorker();
    const events: unknown[] = [];
    worker.serve("ops::page", (event) => {
      events.push(event);
      throw new Error("no pager");
    });
    await until("the function", () => engine.directory.functionById("ops::page") !== undefined);
    values.set("errors", 11);
    clock.advance(5_000);
    await until("the failure", async () => (await state("errors")).action_failures === 1);
    expect(events).toMatchObject([{ alert: "errors", name: "errors", state: "firing", value: 11, window_seconds: 60 }]);
    expect(await state("errors")).toMatchObject({ firing: true, last_action_error: "no pager" });
  });

  it("work on no more than 16 notices at a time, and drop none of a thousand", async () => {
    const rules = Array.from({ length: 1_000 }, (_, index) => ({
      ...errors,
      name: `alert ${index}`,
      action: { type: "function", path: "ops::page" },
    }));
    const { clock, values, engine, until } = await alerting(rules);
    const worker = await engine.connectWorker();
    const finish: (() => void)[] = [];
    let told = 0;
    worker.serve("ops::page", () => {
      told++;
      return new Promise<void>((resolve) => finish.push(resolve));
    });
    await until("the function", () => engine.directory.functionById("ops::page") !== undefined);
    values.set("errors", 11);
    clock.advance(5_000);
    await until("16 calls", () => told === 16);
    expect(finish).toHaveLength(16);
    await until("all", () => {
      expect(finish.length).toBeLessThanOrEqual(16);
      for (const one of finish.splice(0)) one();
      return told === 1_000;
    });
  });
});

describe("alerts made at run time", () => {
  it("are there after a restart, with their silence, until they are deleted (gap 46)", async () => {
    const first = await alerting([errors]);
    expect(await first.call("create", { ...errors, name: "mine", metric: "mine" })).toMatchObject({
      source: "runtime",
      enabled: true,
      cooldown_seconds: 60,
    });
    await first.call("silence", { name: "mine", seconds: 3_600 });
    await first.call("update", { name: "mine", threshold: 5 });
    await first.call("update", { name: "errors", enabled: false });
    await first.stop();

    const second = await alerting([errors], first.dataDir);
    expect(await second.state("mine")).toMatchObject({
      source: "runtime",
      threshold: 5,
      window_seconds: 60,
      silenced_until: second.clock.now() + 3_600_000,
    });
    expect(await second.state("errors")).toMatchObject({ source: "config", enabled: false });
    second.values.set("mine", 6);
    second.clock.advance(5_000);
    expect(await second.state("mine")).toMatchObject({ firing: true });
    await second.call("delete", { name: "mine" });
    expect(await second.call("history", { name: "mine" })).toMatchObject({
      events: [{ state: "resolved" }, { state: "firing" }],
    });
    await second.stop();

    const third = await alerting([errors], first.dataDir);
    expect(((await third.call("list")).alerts as Answer[]).map(({ name }) => name)).toEqual(["errors"]);
  });

  it("lose nothing of a change when they are changed all at once", async () => {
    const { call, dataDir, stop } = await alerting();
    await Promise.all(Array.from({ length: 20 }, (_, index) => call("create", { ...errors, name: `alert ${index}` })));
    await stop();
    const again = await alerting([], dataDir);
    expect((await again.call("list")).alerts).toHaveLength(20);
  });

  it("cannot change or delete those of the config, which may be silenced and switched off, and say so", async () => {
    const { call, state } = await alerting([errors]);
    await expect(call("delete", { name: "errors" })).rejects.toMatchObject({
      code: "INVALID_ARGUMENTS",
      message: expect.stringContaining("config file"),
    });
    await expect(call("update", { name: "errors", threshold: 1 })).rejects.toMatchObject({ code: "INVALID_ARGUMENTS" });
    await expect(call("create", errors)).rejects.toMatchObject({ code: "registration_refused" });
    await expect(call("silence", { name: "nobody", seconds: 1 })).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(call("silence", { name: "errors" })).rejects.toMatchObject({ code: "invalid_input" });
    await call("silence", { name: "errors", seconds: 60 });
    expect(await state("errors")).toMatchObject({ silenced_until: expect.any(Number) });
    await call("silence", { name: "errors", seconds: 0 });
    expect(await state("errors")).toMatchObject({ silenced_until: null });
  });

  it("are replaced by one of the config with the same name, and return when it is removed", async () => {
    const { call, state, reconfigure } = await alerting();
    await call("create", { ...errors, threshold: 1 });
    await reconfigure([errors]);
    expect(await state("errors")).toMatchObject({ source: "config", threshold: 10 });
    await reconfigure([]);
    expect(await state("errors")).toMatchObject({ source: "runtime", threshold: 1 });
  });

  it("keep how they stand when the config changes others", async () => {
    const { call, state, reconfigure, values, clock } = await alerting([errors]);
    values.set("errors", 11);
    clock.advance(5_000);
    await reconfigure([errors, { ...errors, name: "more" }]);
    expect(await state("errors")).toMatchObject({ firing: true });
    clock.advance(5_000);
    expect(await call("history", { name: "errors" })).toMatchObject({ total: 1 });
  });

  it("are at most 1,000 together with those of the config", async () => {
    const { call } = await alerting(
      Array.from({ length: 1_000 }, (_, index) => ({ ...errors, name: `alert ${index}` })),
    );
    await expect(call("create", { ...errors, name: "one more" })).rejects.toMatchObject({
      code: "registration_refused",
    });
  });

  it("are dropped when their file is damaged, which is renamed, and rules of the config still apply", async () => {
    const dataDir = folder();
    writeFileSync(join(dataDir, "alerts.json"), '{"version":1,"rules":[{"na');
    const { call, engine } = await alerting([errors], dataDir);
    expect((await call("list")).alerts).toHaveLength(1);
    expect(readdirSync(dataDir)).toContain("alerts.json.damaged");
    expect(engine.logs.find(({ level }) => level === "error")?.message).toContain("was renamed");
  });

  it("are reported as degraded health when their file is damaged, after restarts too, until it is repaired or deleted", async () => {
    const dataDir = folder();
    writeFileSync(join(dataDir, "alerts.json"), '{"version":1,"rules":[{"na');
    const aside = join(dataDir, "alerts.json.damaged");
    const details = `svc-observability: alerts that were made at run time cannot be read and are not evaluated: repair ${aside} and rename it to alerts.json, or delete it, and restart the engine`;
    for (const run of ["that finds it", "that finds it put aside"]) {
      const { engine, stop } = await alerting([], dataDir);
      expect([run, engine.kernel.health.read()]).toMatchObject([
        run,
        [{ component: "alerts", status: "degraded", details }],
      ]);
      await stop();
    }
    rmSync(aside);
    expect((await alerting([], dataDir)).engine.kernel.health.read()).toEqual([]);
  });

  it("are read from a file of a newer engine, and keep what this one does not know when they are saved again", async () => {
    const dataDir = folder();
    const file = join(dataDir, "alerts.json");
    const maker = { principal: "role guest", role: "guest", since: 1 };
    const rules = [{ ...errors, made_by: maker, newer: { a: 1 } }];
    const overrides = [{ name: "errors", silenced_until: 8e12, reason: "holidays" }];
    writeFileSync(file, JSON.stringify({ version: 1, rules, overrides, more: [1] }));
    const { call, state } = await alerting([], dataDir);
    expect(await state("errors")).toMatchObject({ silenced_until: 8e12 });
    await call("create", { ...errors, name: "another" });
    await call("update", { name: "errors", threshold: 5 });
    expect(readdirSync(dataDir)).not.toContain("alerts.json.damaged");
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({
      more: [1],
      rules: [{ name: "errors", threshold: 5, made_by: maker, newer: { a: 1 } }, { name: "another" }],
      overrides,
    });
  });

  it("may post only where engine.http_functions lets requests go", async () => {
    const { call } = await alerting();
    for (const url of [
      "http://93.184.216.34/",
      "https://127.0.0.1/",
      "https://169.254.169.254/latest",
      "https://[::1]/",
      "https://localhost/",
    ]) {
      await expect(call("create", { ...errors, action: { type: "webhook", url } })).rejects.toMatchObject({
        code: "url_validation_failed",
      });
    }
    await call("create", errors);
    await expect(
      call("update", { name: "errors", action: { type: "webhook", url: "https://10.0.0.1/" } }),
    ).rejects.toMatchObject({
      code: "url_validation_failed",
    });
  });

  it("call no function that belongs to another than when a restricted connection made them, also after a restart", async () => {
    const dataDir = folder();
    const pager = { ...errors, action: { type: "function", path: "payments::charge" } };
    const access = accessOfRole("guest", ["engine::alerts::create", "engine::alerts::update"]);
    const before = await alerting([], dataDir);
    const guest = await before.engine.connectWorker({ access });
    guest.serve("payments::charge", () => null);
    expect(await guest.call("engine::alerts::create", pager)).toMatchObject({ result: { problem: null } });
    expect(await guest.call("engine::alerts::create", { ...errors, name: "updated" })).toMatchObject({ error: null });
    expect(await guest.call("engine::alerts::update", { name: "updated", action: pager.action })).toMatchObject({
      error: null,
    });
    await before.stop();

    const { engine, clock, values, state, until } = await alerting([], dataDir);
    const owner = await engine.connectWorker();
    const ran: unknown[] = [];
    owner.serve("payments::charge", (data) => void ran.push(data));
    await until("it is there", () => engine.directory.functionById("payments::charge") !== undefined);
    values.set("errors", 11);
    clock.advance(5_000);
    const taken = expect.stringContaining("payments::charge belonged to role guest");
    for (const name of ["errors", "updated"]) {
      await until(
        `${name} failed or ran`,
        async () => Number((await state(name)).action_failures) === 1 || ran.length > 0,
      );
      expect(await state(name)).toMatchObject({ firing: true, last_action_error: taken, problem: taken });
    }
    expect(ran).toEqual([]);
  });

  it("call only functions that their maker may call, and are not allowed to a restricted connection by a pattern", async () => {
    const { engine } = await alerting();
    const rule = { ...errors, action: { type: "function", path: "secret::function" } };
    const named = await engine.connectWorker({ access: accessTo(["engine::alerts::create"]) });
    expect(await named.call("engine::alerts::create", rule)).toMatchObject({ error: { code: "FORBIDDEN" } });
    expect(await named.call("engine::alerts::create", errors)).toMatchObject({ result: { name: "errors" } });
    const byPattern = await engine.connectWorker({ access: accessTo(['match("engine::*")']) });
    expect(await byPattern.call("engine::alerts::create", { ...errors, name: "b" })).toMatchObject({
      error: { code: "FORBIDDEN" },
    });
    for (const id of ["list", "evaluate", "history"]) {
      expect(await byPattern.call(`engine::alerts::${id}`, {})).toMatchObject({ error: { code: "FORBIDDEN" } });
    }
    // The alert's call would bypass the middleware.
    const behind = accessTo(["engine::alerts::create", "orders::list"], { middlewareFunctionId: "mw" });
    const filtered = await engine.connectWorker({ access: behind });
    const around = { ...errors, name: "c", action: { type: "function", path: "orders::list" } };
    expect(await filtered.call("engine::alerts::create", around)).toMatchObject({ error: { code: "FORBIDDEN" } });
  });
});
