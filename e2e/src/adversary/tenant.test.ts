// Two tenants: connections with a prefix each, assigned by an auth function.
import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { RawFrame } from "../compat/support/raw-worker.ts";
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
    config: { concurrency_request_limit: 40 }
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
    if (tenant !== "acme" && tenant !== "evil" && tenant !== "evil2") throw new Error("unknown tenant");
    return {
      allowed_functions: [
        "event::list",
        "publish",
        "engine::functions::list",
        "engine::workers::list",
        "engine::triggers::list",
        "engine::invocations::list",
      ],
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

/** The control of every test: the owner and the other tenant still work. */
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
    // Bound while there is no provider, and removed when a trusted worker provides it.
    expect(await evil.bind("http", "later", { api_path: "/evil/later" })).toMatchObject({
      status: expect.stringMatching(/^(in)?active$/),
    });
    await evil.bind("cron", "later", { expression: "* * * * * *" });
    await owner.serve("evil::later", () => void calls++);
    for (const path of ["/evil/trusted", "/evil/later"]) expect(await status(path)).toBe(404);
    await ticks.more(2);
    expect(calls).toBe(0);
    expect(await owner.codeOf("evil::later")).toBeUndefined();
  });

  it("cannot call, provide, unregister or join what another tenant or the owner provides (K2)", async () => {
    expect(await evil.result("api::hello")).toBe("hello");
    for (const id of ["acme::greet", "greet", "owner::tick", "auth::check", "auth::registration"]) {
      expect([id, await evil.codeOf(id)]).toEqual([id, "FORBIDDEN"]);
    }
    await evil.serve("acme::greet", () => "stolen");
    expect(await owner.result("evil::acme::greet")).toBe("stolen");
    evil.say({ type: "unregisterfunction", id: "acme::greet" });
    evil.say({ type: "unregisterfunction", id: "::acme::greet" });
    const { triggers } = (await owner.result("engine::triggers::list")) as { triggers: { id: string }[] };
    for (const { id } of triggers) evil.say({ type: "unregistertrigger", id });
    // A reattach requires the token of the previous connection.
    evil.say({ type: "reattach", previous_worker_id: owner.id, reattach_token: "guess" });
    await evil.settled();
    expect(await owner.codeOf("evil::acme::greet")).toBe("function_not_found");
    for (const id of ["auth::check", "../auth::check", "evil::auth::check"])
      await evil.register({ type: "registerfunction", id });
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
    for (const path of ["/", "/acme/other", "/evilx", "/x/greet"])
      expect([path, await status(path)]).toEqual([path, 404]);
    expect(await (await fetch(`${site.http}/evil/x`)).json()).toBe("stolen");
  });

  it("sees nothing of another tenant in lists of functions, workers, triggers and calls", async () => {
    await acme.result("acme::greet", { card: "private-payload" });
    for (const id of [
      "engine::functions::list",
      "engine::workers::list",
      "engine::triggers::list",
      "engine::invocations::list",
    ]) {
      const shown = JSON.stringify(await evil.result(id, { include_internal: true }));
      expect([id, /acme::|private-payload|"acme"|owner::/.exec(shown)?.[0]]).toEqual([id, undefined]);
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
    let number = 0;
    const name = (): string => `full-${++number}`;
    const connected = (tenant: string): Promise<Client> => site.connect({ name: tenant, query: `?tenant=${tenant}` });
    const megabyte = "x".repeat(1_000_000);
    const takeMegabyte = (client: Client): Promise<string | undefined> =>
      client.register({
        type: "registertrigger",
        id: randomUUID(),
        trigger_type: "subscribe",
        function_id: "greet",
        config: { topic: name() },
        metadata: megabyte,
      });
    const hanging = new Ticks();
    await evil.serve("hang", () => {
      hanging.add();
      return new Promise(() => {});
    });
    await evil.bind("http", "hang", { api_path: "/evil/hang" });
    const stopped = new AbortController();
    const requests: Promise<unknown>[] = [];

    // In parts: on a busy machine the engine needs longer for hundreds of frames than any timeout here.
    const many = async (count: number, frame: () => RawFrame): Promise<void> => {
      for (let n = 1; n <= count; n++) {
        evil.say(frame());
        if (n % 100 === 0) await evil.settled();
      }
    };

    /**
     * `fill` uses up the share of a tenant, by default `evil`. `take` uses one more and returns the code of the
     * refusal, if any.
     */
    const resources: readonly {
      readonly what: string;
      readonly tenant?: string;
      fill(): Promise<unknown>;
      take(client: Client): Promise<string | undefined>;
    }[] = [
      {
        what: "functions",
        async fill() {
          await many(10_000, () => ({ type: "registerfunction", id: name() }));
        },
        take: (client) => client.register({ type: "registerfunction", id: name() }),
      },
      {
        what: "triggers",
        async fill() {
          // Of a type without a provider, because a provider would only slow the test down.
          await many(10_000, () => ({
            type: "registertrigger",
            id: randomUUID(),
            trigger_type: "missing",
            function_id: "hang",
            config: null,
          }));
        },
        async take(client) {
          const { error } = await client.bind("subscribe", "greet", { topic: name() });
          return (error as { readonly code: string } | undefined)?.code;
        },
      },
      {
        what: "trigger types",
        async fill() {
          await many(1_000, () => ({ type: "registertriggertype", id: name(), description: "" }));
        },
        take: (client) => client.register({ type: "registertriggertype", id: name(), description: "" }),
      },
      {
        what: "bytes of registrations",
        tenant: "evil2",
        async fill() {
          const client = await connected("evil2");
          for (let n = 0; n < 33; n++) expect(await takeMegabyte(client)).toBeUndefined();
        },
        take: takeMegabyte,
      },
      {
        what: "channels",
        async fill() {
          // 500 on one connection, 2,000 for the tenant.
          for (let n = 0; n < 4; n++) {
            const client = await connected("evil");
            await Promise.all(Array.from({ length: 500 }, () => client.codeOf("engine::channels::create")));
          }
        },
        take: (client) => client.codeOf("engine::channels::create"),
      },
      // Last, because a request hangs for 30 s at most.
      {
        what: "HTTP requests",
        async fill() {
          // An eighth of concurrency_request_limit.
          for (let n = 0; n < 5; n++)
            requests.push(fetch(`${site.http}/evil/hang`, { signal: stopped.signal }).catch(() => {}));
          await hanging.more(5);
        },
        async take(client) {
          const path = { owner: "/owner", acme: "/acme/greet" }[client.name] ?? "/evil/hang";
          const response = await fetch(site.http + path, { signal: stopped.signal });
          return response.status === 200
            ? undefined
            : ((await response.json()) as { error: { code: string } }).error.code;
        },
      },
    ];
    for (const { fill } of resources) await fill();
    const refused: unknown[] = [];
    for (const { what, tenant = "evil", take } of resources) {
      for (const client of [acme, owner])
        expect([what, client.name, await take(client)]).toEqual([what, client.name, undefined]);
      // A new connection, so that the share of the tenant is exceeded and not only a limit of one connection.
      refused.push([what, await take(await connected(tenant))]);
    }
    expect(refused).toEqual([
      ["functions", "registration_refused"],
      ["triggers", "registration_refused"],
      ["trigger types", "registration_refused"],
      ["bytes of registrations", "payload_too_large"],
      ["channels", "overloaded"],
      ["HTTP requests", "overloaded"],
    ]);
    stopped.abort();
    await Promise.all(requests);
  });
});
