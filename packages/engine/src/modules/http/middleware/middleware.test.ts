import { describe, expect, it } from "vitest";
import { manualClock } from "../../../testing/index.ts";
import { bind, errorOf, held, post, serve, site } from "../testing/site.ts";

type Input = {
  phase: string;
  request: Record<string, unknown>;
  context: Record<string, unknown>;
  response?: Record<string, unknown>;
};

describe("middleware", () => {
  it("runs before the handler by ascending priority, of the engine and of the route, and adds to the context (gap 29)", async () => {
    const { worker, url } = await site({
      config: {
        middleware: [
          { function_id: "mw::late", priority: 10 },
          { function_id: "mw::early", priority: -1 },
        ],
      },
    });
    const order: string[] = [];
    for (const [id, context] of Object.entries({
      late: { who: "late", late: 1 },
      early: { who: "early", early: { deep: [1] } },
      route: { who: "route" },
    })) {
      worker.serve(`mw::${id}`, (data) => {
        order.push(`${id} saw ${String((data as Input).context.who)}`);
        return { action: "continue", context };
      });
    }
    await serve(worker, "/x/:id", ({ context }) => ({ body: context }), {
      middleware_function_ids: [{ function_id: "mw::route", priority: 5 }],
    });

    expect(await (await fetch(`${url}/x/1`)).json()).toEqual({ who: "late", late: 1, early: { deep: [1] } });
    expect(order).toEqual(["early saw undefined", "route saw early", "late saw route"]);
  });

  it("is told the whole request, and its body when it asks for it (gap 29)", async () => {
    const { worker, url } = await site({
      config: { middleware: [{ function_id: "mw::plain" }, { function_id: "mw::body", with_body: true }] },
    });
    const seen: Input[] = [];
    for (const id of ["mw::plain", "mw::body"]) {
      worker.serve(id, (data) => {
        seen.push(data as Input);
        return { action: "continue" };
      });
    }
    await serve(worker, "/x/:id", () => 1, { http_method: "POST" });
    await post(`${url}/x/7?q=1`, '{"a":1}');
    expect(seen).toEqual([
      {
        phase: "preHandler",
        context: {},
        request: expect.objectContaining({
          path: "/x/:id",
          url: "/x/7?q=1",
          path_params: { id: "7" },
          query_params: { q: "1" },
          method: "POST",
          client_address: "127.0.0.1",
        }),
      },
      expect.objectContaining({ request: expect.objectContaining({ body: { a: 1 } }) }),
    ]);
    expect(seen[0]?.request).not.toHaveProperty("body");
  });

  it("can change headers, query and path parameters of the request (gap 29)", async () => {
    const { worker, url } = await site();
    worker.serve("mw::change", () => ({
      action: "continue",
      request: {
        headers: { "X-User": "ada", "x-secret": null },
        query_params: { page: "2", list: ["a", "b"], gone: null },
        path_params: { id: "8" },
      },
    }));
    await serve(worker, "/x/:id", (input) => ({ body: input }), { middleware_function_ids: ["mw::change"] });
    const seen = (await (await fetch(`${url}/x/7?gone=1&stays=1`, { headers: { "x-secret": "s" } })).json()) as Record<
      string,
      Record<string, unknown>
    >;
    expect(seen).toMatchObject({
      path_params: { id: "8" },
      query: { page: ["2"], list: ["a", "b"], stays: ["1"] },
      query_params: { list: "b" },
    });
    expect(seen.query).not.toHaveProperty("gone");
    expect(seen.headers).toMatchObject({ "x-user": "ada" });
    expect(seen.headers_all).not.toHaveProperty("x-secret");
    // Another request does not see it.
    worker.serve("mw::change", () => ({ action: "continue" }));
    expect(((await (await fetch(`${url}/x/7`)).json()) as Record<string, unknown>).query).toEqual({});
  });

  it("may answer in the handler's place (gap 29)", async () => {
    const { worker, url } = await site();
    worker.serve("mw::auth", () => ({
      action: "respond",
      response: { status_code: 401, headers: { "www-authenticate": "Bearer" }, body: { no: true } },
    }));
    let calls = 0;
    await serve(worker, "/x", () => ++calls, { middleware_function_ids: ["mw::auth"] });
    const response = await fetch(`${url}/x`);
    expect([response.status, response.headers.get("www-authenticate"), await response.json(), calls]).toEqual([
      401,
      "Bearer",
      { no: true },
      0,
    ]);
  });

  it.each([
    ["nothing", undefined, 500, "invalid_answer"],
    ["null", null, 500, "invalid_answer"],
    ["an unknown action", { action: "allow" }, 500, "invalid_answer"],
    ["a list", ["continue"], 500, "invalid_answer"],
    ["a response that is none", { action: "respond", response: 5 }, 500, "invalid_answer"],
    ["an impossible status", { action: "respond", response: { status_code: 99 } }, 500, "invalid_answer"],
    ["a context that is none", { action: "continue", context: "x" }, 500, "invalid_answer"],
    ["a header that is no string", { action: "continue", request: { headers: { a: 1 } } }, 500, "invalid_answer"],
    [
      "a change of what it may not change",
      { action: "continue", request: { method: { to: "GET" } } },
      500,
      "invalid_answer",
    ],
  ])("that answers %s closes the route (gap 29)", async (_what, answer, status, code) => {
    const { worker, url } = await site();
    worker.serve("mw::odd", () => answer);
    let calls = 0;
    await serve(worker, "/x", () => ++calls, { middleware_function_ids: ["mw::odd"] });
    const response = await fetch(`${url}/x`);
    expect([response.status, (await errorOf(response)).code, calls]).toEqual([status, code, 0]);
  });

  it("that fails, is not there or does not answer in time closes the route (gap 29) (gap 25)", async () => {
    const clock = manualClock();
    const { worker, url } = await site({ clock });
    worker.serve("mw::fails", () => {
      throw new Error("no");
    });
    const { handle, calls } = held();
    worker.serve("mw::silent", handle);
    for (const id of ["fails", "silent", "missing"])
      await serve(worker, `/${id}`, () => 1, { middleware_function_ids: [`mw::${id}`], timeout_ms: 1_000 });

    expect((await fetch(`${url}/fails`)).status).toBe(500);
    const missing = await fetch(`${url}/missing`);
    expect([missing.status, missing.headers.get("retry-after")]).toEqual([503, "1"]);
    const silent = fetch(`${url}/silent`);
    await calls.count(1);
    clock.advance(1_000);
    const late = await silent;
    expect([late.status, (await errorOf(late)).code]).toEqual([504, "middleware_timeout"]);
  });

  it("that is not there is named in the status of the routes that need it, and so is a condition", async () => {
    const { engine, worker } = await site({ config: { middleware: [{ function_id: "mw::all" }] } });
    worker.say({ type: "registerfunction", id: "test::f" });
    const at = (api_path: string, more = {}): Promise<unknown> => bind(worker, "test::f", { api_path, ...more });
    await at("/guarded", {
      condition_function_id: "test::may",
      middleware_function_ids: [{ function_id: "mw::own", phase: "postHandler" }],
    });
    await at("/plain");
    const shown = (): unknown[] => engine.directory.triggers().map(({ status, reason }) => [status, reason]);
    const missing = (id: string): unknown[] => [
      "inactive",
      `no live worker provides ${id}, without which it cannot run`,
    ];
    const ids = engine.directory.triggers().map(({ id }) => id);
    const changes: string[] = [];
    engine.directory.onChange(({ kind, id, op }) => {
      if (kind === "trigger" && op === "updated") changes.push(id);
    });

    expect(shown()).toEqual([missing("test::may"), missing("mw::all")]);
    const there = async (id: string): Promise<void> => {
      worker.say({ type: "registerfunction", id });
      await expect.poll(() => engine.directory.functionById(id)).toBeDefined();
    };
    await there("test::may");
    expect([shown()[0], changes]).toEqual([missing("mw::own"), [ids[0]]]);
    await there("mw::own");
    await there("mw::all");
    expect(shown()).toEqual([
      ["active", null],
      ["active", null],
    ]);
    worker.say({ type: "unregisterfunction", id: "mw::own" });
    await expect.poll(shown).toEqual([missing("mw::own"), ["active", null]]);
    await engine.applyModules([{ name: "svc-http", config: { middleware: [{ function_id: "mw::other" }] } }]);
    expect(shown()).toEqual([missing("mw::own"), missing("mw::other")]);
    await engine.applyModules([{ name: "svc-http", config: {} }]);
    expect(shown()).toEqual([missing("mw::own"), ["active", null]]);
  });

  it("runs after the handler, sees the response and may change or replace it (gap 29)", async () => {
    const { worker, url } = await site({
      config: {
        middleware: [{ function_id: "mw::wrap", phase: "postHandler", priority: 1 }, { function_id: "mw::before" }],
      },
    });
    worker.serve("mw::before", () => ({ action: "continue", context: { user: "ada" } }));
    worker.serve("mw::wrap", (data) => {
      const { response, context, request } = data as Input;
      if (request.url === "/replaced") return { action: "respond", response: { status_code: 299, body: "other" } };
      if (request.url === "/untouched") return { action: "continue" };
      return {
        action: "continue",
        response: { status_code: 203, headers: { "x-user": context.user, "x-old": null }, body: { wrapped: response } },
      };
    });
    for (const path of ["/wrapped", "/replaced", "/untouched"]) {
      await serve(worker, path, () => ({
        status_code: 201,
        headers: { "x-old": "1", "set-cookie": ["a=1", "b=2"] },
        body: { n: 1 },
      }));
    }

    const wrapped = await fetch(`${url}/wrapped`);
    expect([
      wrapped.status,
      wrapped.headers.get("x-user"),
      wrapped.headers.get("x-old"),
      wrapped.headers.getSetCookie(),
    ]).toEqual([203, "ada", null, ["a=1", "b=2"]]);
    expect(await wrapped.json()).toEqual({
      wrapped: {
        status_code: 201,
        headers: { "x-old": "1", "set-cookie": ["a=1", "b=2"], "content-type": "application/json" },
        body: { n: 1 },
      },
    });
    const replaced = await fetch(`${url}/replaced`);
    expect([replaced.status, await replaced.json(), replaced.headers.get("x-old")]).toEqual([299, "other", null]);
    const untouched = await fetch(`${url}/untouched`);
    expect([untouched.status, await untouched.json()]).toEqual([201, { n: 1 }]);
  });

  it("after the handler closes the route too when it fails (gap 29)", async () => {
    const { worker, url } = await site({
      config: { middleware: [{ function_id: "mw::after", phase: "postHandler" }] },
    });
    worker.serve("mw::after", () => "fine");
    await serve(worker, "/x", () => "secret");
    const response = await fetch(`${url}/x`);
    const text = await response.text();
    expect([response.status, text.includes("secret")]).toEqual([500, false]);
  });
});
