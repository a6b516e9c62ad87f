// Two tenants beside each other: connections with a prefix each, as an auth function gives it.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Client } from "./support/client.ts";
import { type Site, startSite, Ticks } from "./support/site.ts";

let site: Site;
let owner: Client;
let acme: Client;
let evil: Client;
const ticks = new Ticks();

beforeAll(async () => {
  site = await startSite(
    ({ restricted }) => `
engine:
  bridges:
    - port: ${restricted}
      rbac:
        auth_function_id: auth::check
        on_function_registration_function_id: auth::registration
        expose_functions: ['match("api::*")']
workers:
  - name: svc-http
  - name: svc-cron
  - name: svc-queue
  - name: svc-event
    config: { max_waiting_bytes: 100000 }
  - name: svc-state
  - name: svc-observability
`,
  );
  owner = site.owner;
  await owner.serve("auth::check", (data) => {
    const { query_params } = data as { query_params: Record<string, string[]> };
    const tenant = query_params.tenant?.[0];
    if (tenant !== "acme" && tenant !== "evil") throw new Error("unknown tenant");
    return {
      allowed_functions: ["event::list", "publish", "engine::functions::list", "engine::workers::list", "engine::triggers::list", "engine::invocations::list"],
      function_registration_prefix: tenant,
      http_path_prefix: `/${tenant}`,
      allow_trigger_type_registration: true,
      context: { tenant },
    };
  });
  await owner.serve("auth::registration", () => ({}));
  await owner.serve("api::hello", () => "hello");
  await owner.serve("owner::tick", () => ticks.add());
  await owner.serve("owner::route", () => ({ status_code: 200, body: "owner" }));
  await owner.bind("cron", "owner::tick", { expression: "* * * * * *" });
  await owner.bind("http", "owner::route", { api_path: "/owner" });
  acme = await site.connect({ name: "acme", query: "?tenant=acme" });
  evil = await site.connect({ name: "evil", query: "?tenant=evil" });
  await acme.serve("greet", () => "greetings from acme");
  expect(await acme.bind("http", "greet", { api_path: "/acme/greet" })).toMatchObject({ status: "active" });
});
afterAll(() => site?.stop());

/** The control of every test: the work of the owner and of the other tenant goes on. */
afterEach(async () => {
  expect(await owner.result("api::hello")).toBe("hello");
  expect(await owner.result("acme::greet")).toBe("greetings from acme");
  expect(await acme.result("acme::greet")).toBe("greetings from acme");
  for (const [path, text] of [
    ["/owner", "owner"],
    ["/acme/greet", "greetings from acme"],
  ] as const) {
    const response = await fetch(site.http + path);
    expect([path, response.status, await response.json()]).toEqual([path, 200, text]);
  }
  await ticks.more(1);
});

const status = async (path: string): Promise<number> => (await fetch(site.http + path)).status;

describe("a tenant", () => {
  it("cannot bind triggers to what a trusted worker provides below its prefix, now or later (A2)", async () => {
    let calls = 0;
    await owner.serve("evil::trusted", () => void calls++);
    const bindings = [
      ["http", { api_path: "/evil/trusted" }],
      ["cron", { expression: "* * * * * *" }],
      ["subscribe", { topic: "t" }],
    ] as const;
    for (const [type, config] of bindings) {
      expect([type, await evil.bind(type, "trusted", config)]).toMatchObject([type, { error: { code: "FORBIDDEN" } }]);
    }
    // Bound while nobody provides it, and taken away when a trusted worker does.
    expect(await evil.bind("http", "later", { api_path: "/evil/later" })).toMatchObject({ status: expect.stringMatching(/^(in)?active$/) });
    await evil.bind("cron", "later", { expression: "* * * * * *" });
    await owner.serve("evil::later", () => void calls++);
    for (const path of ["/evil/trusted", "/evil/later"]) expect(await status(path)).toBe(404);
    await ticks.more(2);
    expect(calls).toBe(0);
    expect(await owner.codeOf("evil::later")).toBeUndefined();
  });

  it("cannot call, provide, unregister or join what another tenant or the owner provides (K2)", async () => {
    for (const id of ["acme::greet", "greet", "owner::tick", "auth::check", "auth::registration"]) {
      expect([id, await evil.codeOf(id)]).toEqual([id, "FORBIDDEN"]);
    }
    await evil.serve("acme::greet", () => "stolen");
    expect(await owner.result("evil::acme::greet")).toBe("stolen");
    evil.say({ type: "unregisterfunction", id: "acme::greet" });
    evil.say({ type: "unregisterfunction", id: "::acme::greet" });
    const { triggers } = (await owner.result("engine::triggers::list")) as { triggers: { id: string }[] };
    for (const { id } of triggers) evil.say({ type: "unregistertrigger", id });
    // Who reattaches needs the token of the connection before.
    evil.say({ type: "reattach", previous_worker_id: owner.id, reattach_token: "guess" });
    await evil.settled();
    expect(await owner.codeOf("evil::acme::greet")).toBe("function_not_found");
    for (const id of ["auth::check", "../auth::check", "evil::auth::check"]) await evil.register({ type: "registerfunction", id });
    expect(await owner.codeOf("auth::check", { query_params: { tenant: ["acme"] } })).toBeUndefined();
  });

  it("cannot have routes outside its path, nor below another's", async () => {
    await evil.serve("route", () => "stolen");
    for (const api_path of [
      "/",
      "/owner",
      "/acme/greet",
      "/acme/other",
      "/:any/greet",
      "/*rest",
      "/evilx",
      "/evil/../acme/x",
      "/evil%2f..%2facme",
      "//acme/x",
    ]) {
      expect([api_path, await evil.bind("http", "route", { api_path })]).toMatchObject([api_path, { status: "error" }]);
    }
    expect(await evil.bind("http", "route", { api_path: "/evil/:any" })).toMatchObject({ status: "active" });
    for (const path of ["/", "/acme/other", "/evilx", "/x/greet"]) expect([path, await status(path)]).toEqual([path, 404]);
    expect(await (await fetch(`${site.http}/evil/x`)).json()).toBe("stolen");
  });

  it("sees nothing of another tenant in lists of functions, workers, triggers and calls", async () => {
    await acme.result("acme::greet", { card: "4711" });
    for (const id of ["engine::functions::list", "engine::workers::list", "engine::triggers::list", "engine::invocations::list"]) {
      const shown = JSON.stringify(await evil.result(id, { include_internal: true }));
      expect([id, /acme::|4711|"acme"|owner::/.exec(shown)?.[0]]).toEqual([id, undefined]);
    }
    expect(JSON.stringify(await acme.result("engine::functions::list"))).toContain("acme::greet");
  });

  it("is not let in by a name that the auth function does not know, nor when it forges what the engine says", async () => {
    for (const query of ["", "?tenant=other", "?tenant=other&tenant=acme", "?__proto__=acme"]) {
      await expect(site.connect({ query })).rejects.toThrow("401");
    }
  });

  it("loses events for functions that do not answer, and others lose none (A10)", async () => {
    const got = { owner: 0, acme: 0 };
    await evil.serve("hang", () => new Promise(() => {}));
    await acme.serve("listen", () => void got.acme++);
    await owner.serve("owner::listen", () => void got.owner++);
    for (const [client, id] of [
      [evil, "hang"],
      [acme, "listen"],
      [owner, "owner::listen"],
    ] as const) {
      expect(await client.bind("subscribe", id, { topic: "flood" })).toMatchObject({ status: "active" });
    }
    for (let n = 0; n < 60; n++) await owner.result("publish", { topic: "flood", data: "x".repeat(10_000) });
    await expect.poll(() => [got.owner, got.acme]).toEqual([60, 60]);
  });

  it("that is full takes nothing from another", async () => {
    for (let n = 0; n < 1_100; n++) evil.say({ type: "registertriggertype", id: `evil.${n}`, description: "" });
    await evil.settled();
    expect(evil.received.filter(({ type }) => type === "error").length).toBeGreaterThanOrEqual(100);
    expect(await acme.register({ type: "registertriggertype", id: "acme.bell", description: "" })).toBeUndefined();
    expect(await owner.register({ type: "registertriggertype", id: "owner.bell", description: "" })).toBeUndefined();
  });
});
