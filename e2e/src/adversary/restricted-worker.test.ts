// A worker with the token of a role, and one behind a middleware, against an owner whose calls, routes, cron and jobs
// must still work.
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Client } from "./support/client.ts";
import { type Site, startSite, Ticks } from "./support/site.ts";

const GUEST = "token-of-the-guest-role";
const READER = "token-of-the-reader-role";

let site: Site;
let owner: Client;
/** Runs of the owner's cron trigger, one per second. */
const ticks = new Ticks();
const ran: unknown[] = [];
const seenByMiddleware: string[] = [];

beforeAll(async () => {
  site = await startSite(
    ({ restricted, behindMiddleware }) => `
engine:
  http_functions: { require_https: false, block_private_ips: false }
  bridges:
    - port: ${restricted}
      rbac:
        expose_functions: ['match("api::*")']
        roles:
          guest:
            allowed_functions: ["guest::*", "engine::queue::enqueue", "queue::*", "engine::channels::*", "engine::workers::list"]
            forbidden_functions: ["guest::forbidden"]
            allow_trigger_type_registration: true
          reader:
            allowed_functions: ["engine::traces::*", "engine::invocations::*", "engine::logs::*", "engine::functions::*", "engine::metrics::*", "reader::*"]
        tokens:
          - { token: ${GUEST}, role: guest }
          - { token: ${READER}, role: reader }
    - port: ${behindMiddleware}
      middleware_function_id: mw::check
workers:
  - name: svc-http
    config: { concurrency_request_limit: 16 }
  - name: svc-cron
    config: { max_running: 8 }
  - name: svc-queue
    config: { queue_configs: { strict: { max_attempts: 1 } } }
  - name: svc-event
  - name: svc-state
  - name: svc-stream
  - name: svc-observability
`,
  );
  owner = site.owner;
  await owner.serve("api::hello", (data) => ({ hello: data }));
  await owner.serve("secret::pay", () => "paid");
  await owner.serve("secret::job", (data) => {
    if ((data as { fails?: boolean } | null)?.fails === true) throw new Error("no");
    ran.push(data);
  });
  await owner.serve("owner::tick", () => ticks.add());
  await owner.serve("owner::route", () => ({ status_code: 200, body: "owner" }));
  expect(await owner.bind("cron", "owner::tick", { expression: "* * * * * *" })).toMatchObject({ status: "active" });
  expect(await owner.bind("http", "owner::route", { api_path: "/owner" })).toMatchObject({ status: "active" });
  await owner.serve("mw::check", async (data) => {
    const { function_id, payload } = data as { function_id: string; payload: unknown };
    seenByMiddleware.push(function_id);
    if (function_id !== "api::hello") throw new Error(`the middleware refuses ${function_id}`);
    return owner.result(function_id, payload);
  });
});
afterAll(() => site?.stop());

const clients: Client[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await ownerWorks();
});
async function guest(
  options: { readonly token?: string; readonly name?: string; readonly kind?: string } = {},
): Promise<Client> {
  const client = await site.connect({ token: GUEST, name: "guest", ...options });
  clients.push(client);
  return client;
}

/** The control of every test: the owner's call, route, cron trigger and job still work. */
async function ownerWorks(): Promise<void> {
  expect(await owner.result("api::hello", 1)).toEqual({ hello: 1 });
  const response = await fetch(`${site.http}/owner`);
  expect([response.status, await response.json()]).toEqual([200, "owner"]);
  const { length } = ran;
  await owner.result("queue::enqueue", { queue: "default", function_id: "secret::job", data: length });
  // Jobs start in order, so a job of the test has run by now.
  await expect.poll(() => ran).toContain(length);
  expect(ran).not.toContain("stolen");
  await ticks.more(1);
}

const body = async (path: string, init?: RequestInit): Promise<unknown[]> => {
  const response = await fetch(site.http + path, init);
  return [response.status, await response.text()];
};

describe("a connection behind a middleware, without rules", () => {
  async function behind(): Promise<Client> {
    const client = await site.connectBehindMiddleware("behind");
    clients.push(client);
    return client;
  }

  it("cannot register the middleware's id, nor take it while its worker is away (A1)", async () => {
    const client = await behind();
    expect(await client.register({ type: "registerfunction", id: "mw::check" })).toBe("FORBIDDEN");
    expect(await client.result("api::hello", 2)).toEqual({ hello: 2 });
    expect(seenByMiddleware).toContain("api::hello");
    expect(await client.codeOf("secret::pay")).toBe("failed");
  });

  it("administers nothing and reads no logs and traces, unless the middleware passes that on", async () => {
    const client = await behind();
    for (const id of [
      "worker::list",
      "worker::stop",
      "engine::config::effective",
      "engine::queue::purge",
      "engine::traces::list",
      "engine::logs::list",
      "state::get",
    ]) {
      expect([id, await client.codeOf(id, { name: "svc-state", queue: "default", scope: "s", key: "k" })]).toEqual([
        id,
        "failed",
      ]);
      expect(seenByMiddleware).toContain(id);
    }
  });

  it("cannot go around it by a job, by a trigger or by a route of its own (A5)", async () => {
    const client = await behind();
    expect(
      await client.codeOf("engine::queue::enqueue", { queue: "default", function_id: "secret::job", data: "stolen" }),
    ).toBe("failed");
    expect(await client.codeOf("secret::job", "stolen", { action: { type: "enqueue", queue: "default" } })).toBe(
      "failed",
    );
    expect(
      await client.codeOf("queue::enqueue", { queue: "default", function_id: "secret::job", data: "stolen" }),
    ).toBe("failed");
    for (const [type, config] of [
      ["http", { api_path: "/around" }],
      ["cron", { expression: "* * * * * *" }],
      ["subscribe", { topic: "around" }],
      ["queue", { queue: "default" }],
      ["state", {}],
    ] as const) {
      expect([type, await client.bind(type, "secret::job", config)]).toMatchObject([
        type,
        { error: { code: "FORBIDDEN" } },
      ]);
    }
    await client.serve("behind::own", () => "own");
    const condition = await client.bind("http", "behind::own", {
      api_path: "/behind",
      condition_function_id: "secret::job",
    });
    expect(condition).toMatchObject({ error: { code: "FORBIDDEN" } });
    expect((await fetch(`${site.http}/around`)).status).toBe(404);
    // Its own function behind its own route works.
    expect(await client.bind("http", "behind::own", { api_path: "/behind" })).toMatchObject({ status: "active" });
    expect(await body("/behind")).toEqual([200, '"own"']);
  });
});

describe("a restricted worker's calls", () => {
  it("reach what is exposed and allowed, whichever way they go", async () => {
    const client = await guest();
    expect(await client.result("api::hello", 3)).toEqual({ hello: 3 });
    for (const id of [
      "secret::pay",
      "not::there",
      "engine::config::effective",
      "worker::list",
      "worker::stop",
      "state::set",
      "engine::traces::list",
    ]) {
      expect([id, await client.codeOf(id)]).toEqual([id, "FORBIDDEN"]);
    }
    for (const id of ["engine::queue::enqueue", "queue::enqueue"]) {
      expect([id, await client.codeOf(id, { queue: "default", function_id: "secret::job", data: "stolen" })]).toEqual([
        id,
        "FORBIDDEN",
      ]);
    }
    expect(
      await client.codeOf("queue::enqueue_many", {
        jobs: [{ queue: "default", function_id: "secret::job", data: "stolen" }],
      }),
    ).toBe("FORBIDDEN");
    expect(await client.codeOf("secret::job", "stolen", { action: { type: "enqueue", queue: "default" } })).toBe(
      "FORBIDDEN",
    );
    client.say({ type: "invokefunction", function_id: "secret::job", data: "stolen", action: { type: "void" } });
    await client.settled();
  });

  it("gain no rights by a job or a trigger that calls a function of the engine (A2, A6, A7)", async () => {
    const [client, reader] = [await guest(), await guest({ token: READER, name: "reader" })];
    const stolen = { queue: "default", function_id: "secret::job", data: "stolen" };
    for (const id of [
      "engine::queue::enqueue",
      "queue::enqueue",
      "queue::redrive",
      "engine::register_trigger",
      "engine::traces::list",
      "state::set",
    ]) {
      const job = { queue: "default", function_id: id, data: stolen };
      expect([id, await client.codeOf("queue::enqueue", job)]).toEqual([id, "FORBIDDEN"]);
      // The queue rejects those that it may call.
      const refusal = id.startsWith("queue::") ? "enqueue_error" : "FORBIDDEN";
      expect([id, await client.codeOf(id, stolen, { action: { type: "enqueue", queue: "default" } })]).toEqual([
        id,
        refusal,
      ]);
      for (const [type, config] of [
        ["http", { api_path: "/engine", http_method: "POST" }],
        ["cron", { expression: "* * * * * *" }],
        ["subscribe", { topic: "t" }],
        ["state", {}],
      ] as const) {
        expect([id, type, await client.bind(type, id, config)]).toMatchObject([
          id,
          type,
          { error: { code: "FORBIDDEN" } },
        ]);
        expect([id, type, await reader.bind(type, id, config)]).toMatchObject([
          id,
          type,
          { error: { code: "FORBIDDEN" } },
        ]);
      }
    }
  });

  it("cannot be answered by another connection, nor answer another's calls (K1)", async () => {
    const client = await guest();
    let pending: unknown;
    await owner.serve("secret::slow", (_data, frame) => {
      pending = frame.invocation_id;
      client.say({
        type: "invocationresult",
        invocation_id: String(pending),
        function_id: "secret::slow",
        result: "forged",
      });
      return client.settled().then(() => "real");
    });
    const other = await site.connectTrusted("other");
    expect(await other.result("secret::slow")).toBe("real");
    other.close();
  });

  it("cannot send a dead job of another function back with data of its own (A6)", async () => {
    const { job_id } = (await owner.result("queue::enqueue", {
      queue: "strict",
      function_id: "secret::job",
      data: { fails: true },
    })) as { job_id: string };
    await expect
      .poll(async () => ((await owner.result("queue::stats", { queue: "strict" })) as { dead: number }).dead)
      .toBe(1);
    const client = await guest();
    for (const payload of [{ payload: "stolen" }, { payload: "stolen", job_ids: [job_id] }, {}]) {
      expect(await client.codeOf("queue::redrive", { queue: "strict", ...payload })).toBe("FORBIDDEN");
    }
    for (const id of ["queue::purge", "queue::discard", "queue::cancel", "queue::pause"]) {
      expect([id, await client.codeOf(id, { queue: "strict", job_id, job_ids: [job_id] })]).toEqual([id, "FORBIDDEN"]);
    }
    expect(await owner.result("queue::redrive", { queue: "strict", payload: "redriven by the owner" })).toMatchObject({
      redriven: 1,
    });
    await expect.poll(() => ran).toContain("redriven by the owner");
  });
});

describe("a restricted worker's registrations", () => {
  it("cannot take an id of the engine, of a trusted worker, or of one that has left (A4, K2)", async () => {
    const trusted = await site.connectTrusted("trusted");
    await trusted.serve("payments::charge", () => "charged");
    expect(await trusted.register({ type: "registertriggertype", id: "bell", description: "rings" })).toBeUndefined();
    const client = await guest();
    const attempts = async (): Promise<void> => {
      for (const id of ["payments::charge", "secret::pay", "engine::queue::enqueue", "engine::x", "state::get"]) {
        expect([id, await client.register({ type: "registerfunction", id })]).toEqual([
          id,
          expect.stringMatching(/registration_refused|FORBIDDEN|reserved/),
        ]);
      }
      for (const id of ["bell", "cron", "http"]) {
        expect([id, await client.register({ type: "registertriggertype", id, description: "" })]).toEqual([
          id,
          expect.any(String),
        ]);
      }
    };
    await attempts();
    trusted.close();
    await expect.poll(async () => owner.codeOf("payments::charge")).toBe("function_not_found");
    await attempts();
    // The owner's binding is sent only to a trusted provider.
    const back = await site.connectTrusted("trusted");
    await back.serve("payments::charge", () => "charged");
    expect(await owner.result("payments::charge")).toBe("charged");
    expect(await back.register({ type: "registertriggertype", id: "bell", description: "rings" })).toBeUndefined();
    back.close();
  });

  it("cannot take paths that a trusted route matches, with any method (A3), nor those of the engine (K9)", async () => {
    for (const [path, name] of [
      ["/users/:id", "user"],
      ["/files/*rest", "file"],
    ] as const) {
      await owner.serve(`secret::${name}`, () => ({ status_code: 200, body: name }));
      expect(await owner.bind("http", `secret::${name}`, { api_path: path, http_method: "GET" })).toMatchObject({
        status: "active",
      });
    }
    const client = await guest();
    await client.serve("guest::hijack", () => ({ status_code: 200, body: "hijacked" }));
    const routes = [
      ["/users/me", "GET"],
      ["/users/:id", "POST"],
      ["/users/:id", "HEAD"],
      ["/users/:id", "OPTIONS"],
      ["/users/me", "DELETE"],
      ["/files/:a/:b", "GET"],
      ["/files/a/b", "PUT"],
      ["/:any/me", "GET"],
      ["/*rest", "GET"],
      ["/_console/invoke", "POST"],
      ["/healthz", "GET"],
    ];
    for (const [api_path, http_method] of routes) await client.bind("http", "guest::hijack", { api_path, http_method });
    for (const path of ["/users/me", "/users/7"]) expect(await body(path)).toEqual([200, '"user"']);
    for (const path of ["/files/a/b", "/files/a"]) expect(await body(path)).toEqual([200, '"file"']);
    for (const method of ["POST", "DELETE", "PUT", "OPTIONS", "HEAD"]) {
      for (const path of ["/users/me", "/users/7", "/files/a/b"])
        expect([method, path, (await body(path, { method }))[1]]).not.toContain("hijacked");
    }
    expect(await body("/healthz")).not.toContain("hijacked");
    // Paths that no trusted route matches are served.
    expect(await body("/guests")).toEqual([200, '"hijacked"']);
  });

  it("cannot bind triggers to functions of others, nor be handed the owner's bindings, jobs or events", async () => {
    const client = await guest();
    await client.serve("guest::spy", () => null);
    for (const [type, config] of [
      ["http", { api_path: "/x" }],
      ["cron", { expression: "* * * * * *" }],
      ["subscribe", { topic: "t" }],
    ] as const) {
      expect([type, await client.bind(type, "secret::pay", config)]).toMatchObject([
        type,
        { error: { code: "FORBIDDEN" } },
      ]);
      expect([
        type,
        await client.bind(type, "guest::spy", { ...config, condition_function_id: "secret::pay" }),
      ]).toMatchObject([type, { error: { code: "FORBIDDEN" } }]);
    }
    expect(await client.register({ type: "registertriggertype", id: "guest.bell", description: "" })).toBeUndefined();
    expect(await owner.bind("guest.bell", "secret::pay", { note: "private-config" })).toMatchObject({
      status: "inactive",
    });
    await client.settled();
    expect(JSON.stringify(client.received)).not.toContain("private-config");
  });
});

describe("a restricted worker's identity (A12)", () => {
  it("keeps its own name and kind: it forges no metadata, no caller and no console", async () => {
    const client = await guest({ name: "svc console", kind: "console" });
    await owner.serve("api::frame", (_data, { metadata, caller }) => ({ metadata, caller }));
    const forged = { svc: { job: { id: "forged" }, topic: "orders" }, own: 1 };
    const { metadata } = (await client.result(
      "api::frame",
      {},
      { metadata: forged, caller: { worker_id: owner.id, name: "owner" } },
    )) as {
      metadata: unknown;
      caller: unknown;
    };
    expect(metadata).toEqual({ own: 1 });
    const { workers } = (await owner.result("engine::workers::list")) as {
      workers: { id: string; kind?: string; internal: boolean; name: string }[];
    };
    const shown = workers.find(({ id }) => id === client.id);
    expect([shown?.name, shown?.internal]).toEqual(["svc console", false]);
    expect(JSON.stringify(shown)).not.toMatch(/"kind":"console"/);
  });

  it("is what its telemetry is listed under, whatever service it names", async () => {
    const client = await guest({ name: "guest-of-logs" });
    await client.result("engine::log::error", {
      message: "forged log line \u001b[2J\r\nowner: all is well",
      service_name: "owner",
    });
    type Logs = { logs: { body: string; service_name: string }[] };
    await expect
      .poll(async () => ((await owner.result("engine::logs::list", { text: "forged log line" })) as Logs).logs.length)
      .toBeGreaterThan(0);
    const { logs } = (await owner.result("engine::logs::list", { text: "forged log line" })) as Logs;
    for (const log of logs) expect(JSON.stringify(log)).not.toContain('"service_name":"owner"');
    // No control characters reach the engine's own output.
    expect(site.engine.output()).not.toContain("\u001b[2J");
  });
});

describe("a restricted worker's view (A7, K11)", () => {
  it("shows calls of functions that it may call, in lists, trees, live updates, call history and metrics", async () => {
    await owner.serve("secret::with-card", () => "done");
    await owner.result("secret::with-card", { card: "private-payload" });
    await owner.serve("api::outer", () => owner.result("secret::with-card", { card: "private-payload" }));
    const reader = await guest({ token: READER, name: "reader" });
    const told: unknown[] = [];
    await reader.serve("reader::watch", (data) => void told.push(data));
    await reader.serve("reader::log", (data) => void told.push(data));
    for (const [type, id] of [
      ["trace", "reader::watch"],
      ["log", "reader::log"],
    ] as const) {
      await reader.bind(type, id, {});
    }
    expect(await reader.result("api::outer")).toBe("done");
    await owner.result("engine::log::warn", { message: "a line about private-payload of secret::with-card" });
    type Spans = { spans: { name: string; trace_id: string }[]; total: number };
    await expect
      .poll(async () => ((await reader.result("engine::traces::list", { text: "api::outer" })) as Spans).total)
      .toBeGreaterThan(0);
    await expect
      .poll(async () => ((await owner.result("engine::traces::list", { text: "secret::with-card" })) as Spans).total)
      .toBeGreaterThan(0);
    const own = (await reader.result("engine::traces::list", { text: "api::outer" })) as Spans;
    const hidden = (await owner.result("engine::traces::list", { text: "secret::with-card" })) as Spans;
    const seen: unknown[] = [own];
    for (const { trace_id } of [...own.spans, ...hidden.spans]) {
      for (const id of ["tree", "spans"]) seen.push(await reader.call(`engine::traces::${id}`, { data: { trace_id } }));
    }
    for (const id of [
      "engine::traces::list",
      "engine::traces::facets",
      "engine::invocations::list",
      "engine::functions::list",
      "engine::metrics::functions",
      "engine::logs::list",
      "engine::logs::facets",
    ]) {
      seen.push([
        id,
        await reader.call(id, { data: id.endsWith("traces::facets") ? { facets: ["function_id", "service"] } : {} }),
      ]);
    }
    await expect.poll(() => told.length).toBeGreaterThan(0);
    await reader.settled();
    expect(JSON.stringify([seen, told])).not.toMatch(/secret::with-card|private-payload/);
    expect(JSON.stringify(seen)).toContain("api::outer");
  });

  it("does not include values that others write: state, stream items, events, jobs and log lines", async () => {
    const client = await guest({ token: READER });
    const told: string[] = [];
    const notice = (data: unknown): void =>
      void told.push(...(JSON.stringify(data).match(/.{0,100}private-value.{0,100}/g) ?? []));
    const types: readonly (readonly [string, unknown])[] = [
      ["state", {}],
      ["state:created", {}],
      ["stream", { stream_name: "prices" }],
      ["subscribe", { topic: "orders.*" }],
      ["event", { name: "orders.*" }],
      ["durable:subscriber", { topic: "orders.paid" }],
      ["queue", { queue: "default" }],
      ["log", { level: "trace" }],
      ["trace", {}],
      ["engine::functions-available", {}],
    ];
    for (const [type, config] of types) {
      await client.serve(`reader::spy-${type}`, notice);
      const { status } = await client.bind(type, `reader::spy-${type}`, config);
      expect([type, status]).toEqual([type, type.startsWith("engine::") || type === "trace" ? "active" : "error"]);
    }
    const seen: string[] = [];
    await owner.serve("owner::listen", (data) => void seen.push(JSON.stringify(data)));
    for (const [type, config] of [
      ["state", {}],
      ["stream", { stream_name: "prices" }],
      ["subscribe", { topic: "orders.paid" }],
    ] as const) {
      expect([type, await owner.bind(type, "owner::listen", config)]).toMatchObject([type, { status: "active" }]);
    }
    await owner.result("state::set", { scope: "s", key: "k", value: "private-value" });
    await owner.result("stream::set", { stream_name: "prices", group_id: "g", item_id: "i", data: "private-value" });
    await owner.result("publish", { topic: "orders.paid", data: "private-value" });
    await owner.result("svc::durable::publish", { topic: "orders.paid", data: "private-value" });
    await owner.result("engine::log::warn", { message: "private-value" });
    await owner.serve("secret::new-function-private-value", () => 1);
    await expect.poll(() => seen.length).toBeGreaterThanOrEqual(3);
    await ticks.more(1);
    await client.settled();
    expect(told).toEqual([]);
  });

  it("does not include the stream of live updates: a role's token does not open it", async () => {
    const { WebSocket } = await import("ws");
    const socket = new WebSocket(`ws://127.0.0.1:${site.ports.realtime}/`, {
      headers: { authorization: `Bearer ${READER}` },
    });
    const [error] = (await once(socket, "error")) as [Error];
    expect(error.message).toContain("401");
  });
});

describe("a restricted worker's use of resources", () => {
  it("cannot hold up the engine by patterns that backtrack (A9, K8)", async () => {
    const client = await guest();
    for (let n = 0; n < 120; n++) {
      client.say({
        type: "registerfunction",
        id: `guest::slow-${n}`,
        validate: true,
        request_format: { type: "string", pattern: `^(a+)+$|x${n}` },
      });
    }
    await client.settled();
    const attack = Promise.all(
      Array.from({ length: 120 }, (_, n) => client.codeOf(`guest::slow-${n}`, `${"a".repeat(60)}b`)),
    );
    await ownerWorks();
    // A matcher that backtracks would exceed the test's time limit. Calls that take above a tenth of the engine's time
    // are rejected.
    expect((await attack).filter((code) => code !== "invalid_input" && code !== "overloaded")).toEqual([]);
  });

  it("is counted for its principal, over all of its connections (A10)", async () => {
    const [one, other] = [await guest(), await guest()];
    for (const [index, client] of [one, other].entries()) {
      for (let n = 0; n < 900; n++) client.say({ type: "registertriggertype", id: `t${index}.${n}`, description: "" });
      await client.settled();
    }
    const refusals = [one, other].flatMap(({ received }) => received.filter(({ type }) => type === "error"));
    expect(refusals.length).toBe(800);
    expect(JSON.stringify(refusals[0])).toContain(
      "all connections of role guest together have 1000 trigger types of 1000",
    );
    expect(await owner.register({ type: "registertriggertype", id: "owner.type", description: "" })).toBeUndefined();
    // The log has about one line per second for refusals, not one per refusal.
    const lines = site.records().filter(({ message }) => String(message).includes("refused"));
    expect(lines.length).toBeLessThan(100);
  });

  it("leaves channels for the owner (A10)", async () => {
    const refused = async (wanted: number): Promise<number> => {
      const client = await guest();
      const codes = await Promise.all(Array.from({ length: wanted }, () => client.codeOf("engine::channels::create")));
      return codes.filter((code) => code === "overloaded").length;
    };
    // 500 for one connection, 2,000 for a principal.
    for (let connection = 0; connection < 4; connection++) expect(await refused(505)).toBe(5);
    expect(await refused(5)).toBe(5);
    expect(await owner.codeOf("engine::channels::create")).toBeUndefined();
  });

  it("has about one line a second in the log for refused calls (A10)", async () => {
    const client = await guest();
    const before = site.records().length;
    const started = Date.now();
    await Promise.all(Array.from({ length: 2_000 }, () => client.codeOf("secret::pay")));
    await ticks.more(2);
    const lines = site
      .records()
      .slice(before)
      .filter(({ message }) => message === "access denied");
    expect(lines.length).toBeLessThan(20 + (Date.now() - started) / 1_000);
    expect(lines.length).toBeGreaterThan(0);
  });

  it("is limited in telemetry records, so that the owner's stay (A10, K13)", async () => {
    const client = await guest();
    await owner.result("engine::log::warn", { message: "the owner's line before the flood" });
    await Promise.all(
      Array.from({ length: 3_000 }, (_, n) => client.call("engine::log::info", { data: { message: `flood ${n}` } })),
    );
    const flood = (await owner.result("engine::logs::list", { text: "flood", limit: 1_000 })) as {
      total: number;
      logs: unknown[];
    };
    expect(flood.total).toBeLessThan(2_500);
    await expect
      .poll(
        async () =>
          ((await owner.result("engine::logs::list", { text: "the owner's line before" })) as { logs: unknown[] }).logs
            .length,
      )
      .toBeGreaterThan(0);
  });

  describe("by functions that do not answer", () => {
    let server: Server;
    const held: ServerResponse[] = [];
    beforeEach(async () => {
      server = createServer((_request, response) => void held.push(response));
      await once(server.listen(0, "127.0.0.1"), "listening");
    });
    afterEach(() => {
      server.closeAllConnections();
      server.close();
    });

    it("leaves slots to the owner: hanging cron runs, routes and URL functions (A11, K6)", async () => {
      const client = await guest();
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
      const hanging = new Ticks();
      const never = (): Promise<never> => {
        hanging.add();
        return new Promise(() => {});
      };
      for (let n = 0; n < 20; n++) {
        await client.serve(`guest::hang-${n}`, never);
        await client.bind("cron", `guest::hang-${n}`, { expression: "* * * * * *" });
      }
      await client.bind("http", "guest::hang-0", { api_path: "/hang" });
      expect(
        await client.register({ type: "registerfunction", id: "guest::url", invocation: { url, timeout_ms: 60_000 } }),
      ).toBeUndefined();
      await owner.serve("secret::url-owner", () => 1);
      const stopped = new AbortController();
      const requests = Array.from({ length: 40 }, () =>
        fetch(`${site.http}/hang`, { signal: stopped.signal }).then(
          ({ status }) => status,
          () => 0,
        ),
      );
      const calls = Array.from({ length: 200 }, () => client.codeOf("guest::url", {}, { timeout_ms: 60_000 }));
      await hanging.more(1);
      await expect.poll(() => held.length).toBe(128);
      const seconds = ticks.count;
      await ticks.more(3);
      await ownerWorks();
      expect(ticks.count - seconds).toBeGreaterThanOrEqual(4);
      // Those over the share are rejected, and not queued behind the hanging ones.
      expect(await Promise.race(requests)).toBe(503);
      expect(await Promise.race(calls)).toBe("overloaded");
      stopped.abort();
      client.close();
      await Promise.all(requests);
    });
  });
});
