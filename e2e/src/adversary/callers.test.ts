// What the other files do not try for a tenant and for a client behind a middleware; the tables in docs/guide/security.md name these tests.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Client } from "./support/client.ts";
import { type Site, startSite } from "./support/site.ts";

const READER = "token-of-the-reader-role";

let site: Site;
let owner: Client;
const seenByMiddleware: string[] = [];
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
          reader: { allowed_functions: ["engine::logs::list"] }
        tokens:
          - { token: ${READER}, role: reader }
    - port: ${behindMiddleware}
      middleware_function_id: mw::check
workers:
  - name: svc-queue
  - name: svc-event
  - name: svc-state
  - name: svc-stream
  - name: svc-observability
`,
  );
  owner = site.owner;
  await owner.serve("auth::check", () => ({ allowed_functions: ["engine::queue::enqueue"], function_registration_prefix: "acme", http_path_prefix: "/acme" }));
  await owner.serve("mw::check", async (data) => {
    const { function_id, payload } = data as { function_id: string; payload: unknown };
    seenByMiddleware.push(function_id);
    if (function_id !== "api::hello") throw new Error(`the middleware refuses ${function_id}`);
    return owner.result(function_id, payload);
  });
  await owner.serve("api::hello", () => "hello");
  await owner.serve("secret::job", (data) => ran.push(data));
  await owner.result("state::set", { scope: "s", key: "k", value: "secret-value" });
});
afterAll(() => site?.stop());

const CALLERS = {
  tenant: () => site.connect({ name: "acme", query: "?tenant=acme" }),
  "client behind a middleware": () => site.connectBehindMiddleware("behind"),
} as const;

/** Functions that show values of others, by the module that provides them. */
const READS = ["state::get", "state::list", "stream::get", "stream::list", "queue::peek", "queue::list", "event::list"];
const MANAGES = ["queue::redrive", "queue::purge", "queue::discard", "queue::cancel", "queue::pause", "queue::resume"];
const LOGS = ["engine::logs::list", "engine::logs::clear"];
const ADMINISTERS = ["worker::list", "worker::stop", "engine::config::effective", "engine::traces::clear", "state::snapshot"];
const ANY_INPUT = { scope: "s", key: "k", queue: "default", name: "svc-state", stream_name: "s", group_id: "g", item_id: "i" };

const clients: Client[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  // The control of every test: the owner's call, job and value are there.
  expect(await owner.result("api::hello")).toBe("hello");
  const { length } = ran;
  await owner.result("queue::enqueue", { queue: "default", function_id: "secret::job", data: length });
  await expect.poll(() => ran).toContain(length);
  expect(ran).not.toContain("stolen");
  expect(await owner.result("state::get", { scope: "s", key: "k" })).toBe("secret-value");
});

describe.each(Object.keys(CALLERS) as (keyof typeof CALLERS)[])("a %s", (caller) => {
  const refusal = caller === "tenant" ? "FORBIDDEN" : "failed";
  async function connect(): Promise<Client> {
    const client = await CALLERS[caller]();
    clients.push(client);
    return client;
  }
  async function expectRefused(functionIds: readonly string[]): Promise<void> {
    const client = await connect();
    for (const id of functionIds) expect([id, await client.codeOf(id, ANY_INPUT)]).toEqual([id, refusal]);
    if (caller !== "tenant") expect(seenByMiddleware).toEqual(expect.arrayContaining([...functionIds]));
  }

  it("reads no state, streams, events and jobs by itself", () => expectRefused(READS));

  it("manages no queues by itself", () => expectRefused(MANAGES));

  it("reads no logs by itself", () => expectRefused(LOGS));

  it("administers nothing by itself", () => expectRefused(ADMINISTERS));

  it("sees no workers, functions and triggers of others by itself", () =>
    expectRefused(["engine::workers::list", "engine::functions::list", "engine::registered-triggers::list", "engine::traces::list"]));

  it("answers no call of another", async () => {
    const client = await connect();
    await owner.serve("api::slow", (_data, { invocation_id }) => {
      client.say({ type: "invocationresult", invocation_id, function_id: "api::slow", result: "forged" });
      return client.settled().then(() => "real");
    });
    const other = await site.connectTrusted("other");
    expect(await other.result("api::slow")).toBe("real");
    other.close();
  });

  it("acts under no other name", async () => {
    const client = caller === "tenant" ? await site.connect({ name: "svc console", kind: "console", query: "?tenant=acme" }) : await connect();
    clients.push(client);
    await client.register({ type: "registerfunction", id: "own" });
    const { workers } = (await owner.result("engine::workers::list", {})) as { readonly workers: readonly { readonly id: string; readonly kind: string }[] };
    expect(workers.map(({ kind }) => kind)).not.toContain("console");
    await owner.serve("api::frame", (_data, { metadata, caller: maker }) => ({ metadata, maker }));
    if (caller !== "tenant") return;
    const answer = await client.result("api::frame", {}, { metadata: { svc: { job: { id: "forged" } } }, caller: { worker_id: owner.id, name: "owner" } });
    expect(JSON.stringify(answer)).not.toMatch(/forged|"owner"/);
  });

  it("has a share of the channels and leaves some to the owner", async () => {
    const client = await connect();
    const codes = await Promise.all(Array.from({ length: 510 }, () => client.codeOf("engine::channels::create", {})));
    expect(codes.filter((code) => code === "overloaded")).toHaveLength(10);
    expect(await owner.codeOf("engine::channels::create", {})).toBeUndefined();
  });
});

describe("a worker with a role", () => {
  it("reads logs if its role names engine::logs::list", async () => {
    const reader = await site.connect({ name: "reader", token: READER });
    clients.push(reader);
    expect(await reader.codeOf("engine::logs::list", {})).toBeUndefined();
    expect(await reader.codeOf("engine::logs::clear", {})).toBe("FORBIDDEN");
  });
});
