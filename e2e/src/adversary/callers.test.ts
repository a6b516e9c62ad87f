// The cases of the caller tables in docs/guide/security.md that the other files do not test. The tables name these
// tests.
import { once } from "node:events";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { Client } from "./support/client.ts";
import { handshake, send } from "./support/requests.ts";
import { type Site, startSite } from "./support/site.ts";

const PLAIN = "token-of-the-plain-role";
const NAMED = "token-of-the-named-role";
const ADMIN = "token-of-the-admin-role";

const NO_JOB = "00000000-0000-4000-8000-000000000000";
/** Calls that succeed for a trusted worker, by the row of the table. */
const ROWS: Readonly<Record<string, readonly (readonly [functionId: string, data: unknown])[]>> = {
  "read state, streams, events, jobs": [
    ["state::get", { scope: "s", key: "k" }],
    ["stream::get", { stream_name: "prices", group_id: "g", item_id: "i" }],
    ["event::list", {}],
    ["queue::peek", { queue: "other" }],
  ],
  "write state and streams": [
    ["state::set", { scope: "written", key: "k", value: 1 }],
    ["stream::set", { stream_name: "written", group_id: "g", item_id: "i", data: 1 }],
  ],
  "manage queues": [
    ["queue::pause", { queue: "other" }],
    ["queue::resume", { queue: "other" }],
    ["queue::purge", { queue: "other" }],
  ],
  "read traces, metrics, call history": [
    ["engine::traces::list", {}],
    ["engine::metrics::functions", {}],
    ["engine::invocations::list", {}],
  ],
  "read logs": [["engine::logs::list", {}]],
  "see workers and functions": [
    ["engine::workers::list", {}],
    ["engine::functions::list", {}],
  ],
  "administer the engine": [
    ["worker::list", {}],
    ["engine::config::effective", {}],
  ],
};
const CALLS = Object.entries(ROWS).flatMap(([row, calls]) => calls.map(([id, data]) => [row, id, data] as const));
/** Calls that fail with job_not_found for a caller that may make them. */
const CALLS_ON_JOBS = [
  ["queue::cancel", { job_id: NO_JOB }],
  ["queue::discard", { queue: "other", job_ids: [NO_JOB] }],
] as const;
const IDS = [...CALLS.map(([, id]) => id), ...CALLS_ON_JOBS.map(([id]) => id), "queue::redrive"];

/** Triggers that show what the functions above return. */
const TRIGGERS: readonly (readonly [type: string, config: unknown])[] = [
  ["state", {}],
  ["stream", { stream_name: "prices" }],
  ["subscribe", { topic: "orders" }],
  ["durable:subscriber", { topic: "orders" }],
  ["queue", { queue: "other" }],
  ["log", {}],
  ["trace", {}],
];

let site: Site;
let owner: Client;
/** Functions of calls that the middleware received. */
const asked: string[] = [];
let passesOn = false;
const ran: unknown[] = [];

beforeAll(async () => {
  site = await startSite(
    ({ restricted, behindMiddleware }) => `
engine:
  bridges:
    - port: ${restricted}
      rbac:
        auth_function_id: auth::check
        expose_functions: ['match("api::*")']
        roles:
          plain: {}
          named: { allowed_functions: ${JSON.stringify(IDS)} }
          admin: { admin: true }
        tokens: [{ token: ${PLAIN}, role: plain }, { token: ${NAMED}, role: named }, { token: ${ADMIN}, role: admin }]
    - port: ${behindMiddleware}
      middleware_function_id: mw::check
workers:
  - name: svc-http
  - name: svc-queue
    config: { queue_configs: { strict: { max_attempts: 1 }, other: {} } }
  - name: svc-event
  - name: svc-state
  - name: svc-stream
  - name: svc-observability
`,
  );
  owner = site.owner;
  await owner.serve("auth::check", (data) => {
    const [tenant] = (data as { query_params: Record<string, string[]> }).query_params.tenant ?? [];
    return { function_registration_prefix: tenant, allowed_functions: tenant === "named" ? IDS : [] };
  });
  await owner.serve("mw::check", (data) => {
    const { function_id, payload } = data as { function_id: string; payload: unknown };
    asked.push(function_id);
    if (passesOn || function_id.startsWith("api::")) return owner.result(function_id, payload);
    throw new Error(`the middleware refuses ${function_id}`);
  });
  await owner.serve("api::hello", () => "hello");
  await owner.serve("secret::job", (data) => {
    if (data === "fails") throw new Error("no");
    ran.push(data);
  });
  await owner.serve("owner::page", () => ({ status_code: 200, body: "page" }));
  expect(await owner.bind("http", "owner::page", { api_path: "/page" })).toMatchObject({ status: "active" });
  await owner.result("state::set", { scope: "s", key: "k", value: "private-value" });
  await owner.result("stream::set", { stream_name: "prices", group_id: "g", item_id: "i", data: "private-value" });
});
afterAll(() => site?.stop());

/** The control of every test: the owner's call, job, route and value still work. */
afterEach(async () => {
  passesOn = false;
  asked.length = 0;
  for (const client of clients.splice(0)) client.close();
  expect(await owner.result("api::hello")).toBe("hello");
  const { length } = ran;
  await owner.result("queue::enqueue", { queue: "default", function_id: "secret::job", data: length });
  await expect.poll(() => ran).toContain(length);
  expect(await (await fetch(`${site.http}/page`)).json()).toBe("page");
  expect(await owner.result("state::get", { scope: "s", key: "k" })).toBe("private-value");
});

const clients: Client[] = [];
async function opened(client: Promise<Client>): Promise<Client> {
  clients.push(await client);
  return client;
}
const trusted = () => opened(site.connectTrusted("trusted"));
const tenant = (kind?: string) =>
  opened(site.connect({ name: "acme", query: "?tenant=acme", ...(kind === undefined ? {} : { kind }) }));
const behind = (kind?: string) => opened(site.connectBehindMiddleware("behind", kind));

it("a trusted worker does all of this; without a token too, in development", async () => {
  const client = await trusted();
  for (const [, id, data] of CALLS) expect([id, await client.codeOf(id, data)]).toEqual([id, undefined]);
  for (const [id, data] of CALLS_ON_JOBS) expect([id, await client.codeOf(id, data)]).toEqual([id, "job_not_found"]);
  await client.serve("trusted::own", () => "own");
  for (const [type, config] of [...TRIGGERS, ["http", { api_path: "/trusted" }] as const]) {
    expect([type, await client.bind(type, "trusted::own", config)]).toMatchObject([type, { status: "active" }]);
  }
  expect(await owner.result("trusted::own")).toBe("own");
  expect(await (await fetch(`${site.http}/trusted`)).json()).toBe("own");
  expect(JSON.stringify(await client.result("engine::functions::list"))).toContain("secret::job");
});

describe.each([
  ["worker with a role that names nothing", () => opened(site.connect({ token: PLAIN })), "FORBIDDEN"],
  ["tenant", tenant, "FORBIDDEN"],
  ["client behind a middleware that refuses", behind, "failed"],
] as const)("a %s", (caller, connect, refusal) => {
  it("reads, manages, sees and administers nothing that is not its own", async () => {
    const client = await connect();
    await owner.result("state::set", { scope: "written", key: "k", value: "before" });
    await owner.result("stream::set", { stream_name: "written", group_id: "g", item_id: "i", data: "before" });
    for (const [, id, data] of CALLS) expect([id, await client.codeOf(id, data)]).toEqual([id, refusal]);
    if (refusal === "failed") expect(asked).toEqual(CALLS.map(([, id]) => id));
    for (const [id, data] of CALLS_ON_JOBS) expect([id, await client.codeOf(id, data)]).toEqual([id, refusal]);
    expect(await owner.result("state::get", { scope: "written", key: "k" })).toBe("before");
    expect(await owner.result("stream::get", { stream_name: "written", group_id: "g", item_id: "i" })).toBe("before");
  });

  it("is shown nothing by triggers on what it may not read", async () => {
    const client = await connect();
    const shown: unknown[] = [];
    await client.serve("spy", (data) => void shown.push(data));
    for (const [type, config] of TRIGGERS)
      expect([type, await client.bind(type, "spy", config)]).toMatchObject([type, { error: { code: "FORBIDDEN" } }]);
    for (const type of ["engine::functions-available", "engine::workers-available"]) {
      expect([type, await client.bind(type, "spy", {})]).toMatchObject([type, { status: "active" }]);
    }
    const witness = await trusted();
    const seen: unknown[] = [];
    await witness.serve("witness::see", (data) => void seen.push(data));
    expect(await witness.bind("engine::workers-available", "witness::see", {})).toMatchObject({ status: "active" });
    const stranger = await trusted();
    await stranger.serve(`secret::new-${caller}`, () => 1);
    await expect.poll(() => seen).toContainEqual({ event: "worker_connected", worker_id: stranger.id });
    // Events of one trigger arrive in order: those of the caller's other connection arrive after those of the stranger.
    await client.serve("last", () => 1);
    const twin = await connect();
    await twin.serve("twin", () => 1);
    await expect.poll(() => JSON.stringify(shown)).toContain(twin.id);
    twin.close();
    await expect.poll(() => JSON.stringify(shown)).toContain(connect === tenant ? '"acme::last"' : '"last"');
    await expect.poll(() => shown).toContainEqual({ event: "worker_disconnected", worker_id: twin.id });
    expect(JSON.stringify(shown)).not.toMatch(/secret::|private-value/);
    expect(JSON.stringify(shown)).not.toContain(stranger.id);
  });
});

interface Workers {
  readonly workers: readonly {
    readonly id: string;
    readonly name: string;
    readonly kind?: string;
    readonly internal: boolean;
  }[];
}

const NAMING = [
  ["worker with a role that names functions", () => opened(site.connect({ token: NAMED })), "own"],
  ["tenant whose auth function names functions", () => opened(site.connect({ query: "?tenant=named" })), "named::own"],
] as const;

describe.each([...NAMING, ["client behind a middleware that passes calls on", behind, "own"] as const])(
  "a %s",
  (_caller, connect) => {
    it("calls them", async () => {
      passesOn = true;
      const client = await connect();
      for (const [, id, data] of CALLS) expect([id, await client.codeOf(id, data)]).toEqual([id, undefined]);
      for (const [id, data] of CALLS_ON_JOBS)
        expect(JSON.stringify(await client.call(id, { data }))).toContain("job_not_found");
      expect(await client.result("state::get", { scope: "s", key: "k" })).toBe("private-value");
      await owner.result("engine::log::warn", { message: "a line of the owner" });
      await expect
        .poll(async () => JSON.stringify(await client.result("engine::logs::list", { text: "a line of the owner" })))
        .toContain("WARN");
    });
  },
);

describe.each(NAMING)("a %s", (_caller, connect, own) => {
  it("sends back dead jobs of functions that it may call and no others, and discards any", async () => {
    const client = await connect();
    const dead = async (functionId: string): Promise<string> => {
      const { job_id } = (await owner.result("queue::enqueue", {
        queue: "strict",
        function_id: functionId,
        data: "fails",
      })) as { job_id: string };
      await expect
        .poll(async () => ((await owner.result("queue::stats", { queue: "strict" })) as { dead: number }).dead)
        .toBe(1);
      return job_id;
    };
    let fails = true;
    await client.serve("own", () => {
      if (fails) throw new Error("no");
      ran.push(own);
    });
    await dead(own);
    fails = false;
    expect(await client.result("queue::redrive", { queue: "strict" })).toMatchObject({ redriven: 1 });
    await expect.poll(() => ran.splice(0)).toContain(own);
    const job_id = await dead("secret::job");
    expect(await client.codeOf("queue::redrive", { queue: "strict", payload: "stolen" })).toBe("FORBIDDEN");
    expect(await client.codeOf("queue::discard", { queue: "strict", job_ids: [job_id] })).toBeUndefined();
    expect(await owner.result("queue::stats", { queue: "strict" })).toMatchObject({ dead: 0 });
    expect(ran).not.toContain("stolen");
  });

  it("sees traces, metrics, calls, functions and workers of its own functions, and of no others", async () => {
    const client = await connect();
    // Every client may call engine::log::info, which writes its own log lines.
    const logs =
      (by: Client, message: string) =>
      (_data: unknown, { traceparent }: { traceparent?: unknown }) =>
        by.result("engine::log::info", { message }, { traceparent });
    await client.serve("own", logs(client, `line of ${own}`));
    await owner.serve("secret::seen", logs(owner, "card 4711 of secret::seen"));
    for (const id of [own, "secret::seen"]) await owner.result(id);
    const lists = [...(ROWS["read traces, metrics, call history"] ?? []), ...(ROWS["see workers and functions"] ?? [])];
    for (const [id] of lists) {
      const seen = async (by: Client): Promise<string> =>
        JSON.stringify(await by.result(id, { include_internal: true }));
      await expect.poll(() => seen(owner), { message: id }).toContain("secret::seen");
      await expect.poll(() => seen(client), { message: id }).toContain(own);
      expect([id, await seen(client)]).toEqual([id, expect.not.stringContaining("secret::seen")]);
    }
  });
});

describe.each([
  ["trusted worker", trusted],
  ["tenant", tenant],
  ["client behind a middleware", behind],
] as const)("a %s", (_caller, connect) => {
  it("answers no call that another worker got", async () => {
    const client = await connect();
    await owner.serve("api::slow", async (_data, { invocation_id }) => {
      client.say({ type: "invocationresult", invocation_id, function_id: "api::slow", result: "forged" });
      await client.settled();
      return "real";
    });
    expect(await (await trusted()).result("api::slow")).toBe("real");
  });
});

describe.each([
  ["tenant", tenant],
  ["client behind a middleware", behind],
] as const)("a %s", (_caller, connect) => {
  it("has its own name and kind, whatever it says", async () => {
    const client = await connect("console");
    const shown = ((await owner.result("engine::workers::list")) as Workers).workers.find(({ id }) => id === client.id);
    expect([shown?.name, shown?.internal, shown?.kind === "console"]).toEqual([client.name, false, false]);
    await owner.serve("api::frame", (_data, { metadata, caller }) => ({ metadata, caller }));
    const answer = await client.result(
      "api::frame",
      {},
      { metadata: { svc: { job: "forged" } }, caller: { worker_id: "forged", name: "forged" } },
    );
    expect(JSON.stringify(answer)).not.toContain("forged");
  });
});

it("a trusted worker has the name that it gives, and is the caller of its calls, whatever they say", async () => {
  const client = await trusted();
  const { workers } = (await owner.result("engine::workers::list")) as Workers;
  expect(workers.find(({ id }) => id === client.id)?.name).toBe(client.name);
  const witness = await trusted();
  await witness.result("engine::workers::register", {
    name: witness.name,
    runtime: "raw",
    pid: process.pid,
    features: ["tolerates_bad_frames", "caller"],
  });
  await witness.serve("witness::caller", (_data, { caller }) => caller);
  const forged = { caller: { worker_id: owner.id, name: "forged" } };
  expect(await client.result("witness::caller", {}, forged)).toEqual({ worker_id: client.id, name: client.name });
});

it("a role with admin administers the engine, and may call nothing more by that", async () => {
  const client = await opened(site.connect({ token: ADMIN }));
  for (const [id, data] of ROWS["administer the engine"] ?? [])
    expect([id, await client.codeOf(id, data)]).toEqual([id, undefined]);
  for (const id of ["secret::job", "state::get"]) expect([id, await client.codeOf(id)]).toEqual([id, "FORBIDDEN"]);
});

it("a trusted worker has the limits of a connection", async () => {
  const client = await trusted();
  for (let n = 0; n < 1_010; n++) client.say({ type: "registertriggertype", id: `type-${n}`, description: "" });
  await client.settled();
  expect(client.received.filter(({ type }) => type === "error")).toHaveLength(10);
  expect(
    await owner.register({ type: "registertriggertype", id: "type-of-the-owner", description: "" }),
  ).toBeUndefined();
});

it("a client behind a middleware has the share of its principal, over all of its connections", async () => {
  const refused = async (count: number): Promise<number> => {
    const client = await behind();
    const codes = await Promise.all(Array.from({ length: count }, () => client.codeOf("engine::channels::create")));
    return codes.filter((code) => code === "overloaded").length;
  };
  for (let connection = 0; connection < 4; connection++) expect(await refused(500)).toBe(0);
  expect(await refused(5)).toBe(5);
  expect(await owner.codeOf("engine::channels::create")).toBeUndefined();
});

it("an HTTP client has the routes of the owner, and no sockets, streams and functions beside them", async () => {
  await owner.serve("owner::write", () => owner.result("state::set", { scope: "routes", key: "k", value: "written" }));
  await owner.bind("http", "owner::write", { api_path: "/write", http_method: "POST" });
  expect((await send(`${site.http}/write`, { method: "POST" })).status).toBe(200);
  expect(await owner.result("state::get", { scope: "routes", key: "k" })).toBe("written");
  for (const path of ["/", "/otel", "/ws/channels/x", "/stream/prices/g", "/page"]) {
    const outcome = await handshake(`ws://localhost:${site.ports.http}${path}`).catch(() => "closed");
    expect([path, outcome]).not.toEqual([path, "open"]);
  }
  for (const path of [
    "/stream/prices/g",
    "/streams",
    "/state::get",
    "/secret::job",
    "/engine::logs::list",
    "/engine/logs",
  ]) {
    for (const method of ["GET", "POST"])
      expect([path, (await send(site.http + path, { method })).status]).toEqual([path, 404]);
  }
});

it("the routes of the owner are the same for holders of a role's token, of another key, and of none", async () => {
  for (const authorization of [undefined, `Bearer ${PLAIN}`, "Bearer key-of-a-stream-client"]) {
    const answer = await send(`${site.http}/page`, { headers: authorization === undefined ? {} : { authorization } });
    expect([authorization, answer.status, answer.body]).toEqual([authorization, 200, '"page"']);
  }
});

it("a process of this machine without a token is a stream client in development", async () => {
  const socket = new WebSocket(`ws://localhost:${site.ports.realtime}/`);
  await once(socket, "open");
  socket.send(JSON.stringify({ type: "join", data: { subscriptionId: "s", streamName: "prices", groupId: "g" } }));
  const [message] = (await once(socket, "message")) as [Buffer];
  expect(JSON.parse(String(message))).toMatchObject({ streamName: "prices", event: { type: "sync" } });
  expect(String(message)).toContain("private-value");
  socket.terminate();
});
