import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { authResultSchema, grantsOfAuthResult } from "../../access/grants.ts";
import { policyOf } from "../../access/policy.ts";
import { SessionAccess } from "../../access/session-access.ts";
import { type InMemoryEngine, type InMemoryWorker, manualClock } from "../../testing/index.ts";
import { bind, errorOf, held, lastTriggerId, serve, site } from "./testing/site.ts";

/** A connection with its own principal that may call functions below `api::`. */
function restricted(engine: InMemoryEngine, name: string): Promise<InMemoryWorker> {
  const rbac = {
    authFunctionId: "auth::check",
    exposeFunctions: ['match("api::*")'],
    onFunctionRegistrationFunctionId: undefined,
    onTriggerRegistrationFunctionId: undefined,
    onTriggerTypeRegistrationFunctionId: undefined,
    roles: [],
    tokens: [],
  };
  const grants = grantsOfAuthResult(authResultSchema.parse({}), `auth::${name}`);
  return engine.connectWorker({
    name,
    access: new SessionAccess(grants, policyOf({ tokenRequired: false, rbac, middlewareFunctionId: undefined })),
  });
}

const standing = (worker: InMemoryWorker, status: string): Promise<Record<string, unknown>> =>
  worker.next((frame) => frame.type === "triggerregistrationresult" && frame.status === status);

/** Resolves when the engine has seen that the connection has ended. */
function closed(engine: InMemoryEngine, worker: InMemoryWorker): Promise<void> {
  const gone = new Promise<void>((resolve) => {
    engine.directory.onChange(({ kind, id, op }) => {
      if (kind === "worker" && id === worker.id && op === "removed") resolve();
    });
  });
  worker.close();
  return gone;
}

describe("a route that a restricted connection asked for", () => {
  it("goes to an unrestricted worker as soon as that asks for it, and back when that gives it up (K2)", async () => {
    const { engine, worker, url } = await site();
    const guest = await restricted(engine, "guest");
    guest.serve("pay", () => "guest");
    expect(await bind(guest, "pay", { api_path: "/pay" })).toMatchObject({ status: "active" });
    expect(await (await fetch(`${url}/pay`)).json()).toBe("guest");

    const displaced = standing(guest, "error");
    await serve(worker, "/pay", () => "trusted");
    expect(await displaced).toMatchObject({ reason: "route taken by test::/pay" });
    expect(await (await fetch(`${url}/pay`)).json()).toBe("trusted");
    expect(await bind(guest, "pay", { api_path: "/pay" })).toMatchObject({
      status: "error",
      reason: "route taken by test::/pay",
    });

    const back = standing(guest, "active");
    worker.say({
      type: "unregistertrigger",
      id: engine.directory.triggers().find(({ function_id }) => function_id === "test::/pay")?.id,
    });
    await back;
    expect(await (await fetch(`${url}/pay`)).json()).toBe("guest");
  });

  it("calls no middleware of its own any more once a trusted worker provides that function", async () => {
    const { engine, worker, url } = await site();
    const guest = await restricted(engine, "guest");
    let arrived: () => void = () => {};
    const isHeld = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    let release: (result: unknown) => void = () => {};
    guest.serve("pay", () => {
      arrived();
      return new Promise((resolve) => {
        release = resolve;
      });
    });
    const ran: string[] = [];
    guest.serve("after", () => void ran.push("guest"));
    const middleware_function_ids = [{ function_id: "after", phase: "postHandler" }];
    expect(await bind(guest, "pay", { api_path: "/pay", middleware_function_ids })).toMatchObject({ status: "active" });
    const response = fetch(`${url}/pay`);
    await isHeld;
    const gone = standing(guest, "error");
    worker.serve("after", () => {
      ran.push("owner");
      return { action: "continue" };
    });
    await gone;
    release("chosen by the guest");
    expect((await response).status).toBe(503);
    expect(ran).toEqual([]);
  });

  it("stays with the first of two principals", async () => {
    const { engine, url } = await site();
    for (const name of ["one", "two"]) {
      const guest = await restricted(engine, name);
      guest.serve(`${name}::pay`, () => name);
      expect((await bind(guest, `${name}::pay`, { api_path: "/pay" })).status).toBe(
        name === "one" ? "active" : "error",
      );
    }
    expect(await (await fetch(`${url}/pay`)).json()).toBe("one");
  });

  it("is no weaker than others while an unrestricted worker asks for the same, and takes nothing back that was given away before", async () => {
    const { engine, worker, url } = await site();
    const guest = await restricted(engine, "guest");
    worker.serve("api::cond", () => "joint");
    const other = await engine.connectWorker({ name: "other" });
    const third = await engine.connectWorker({ name: "third" });
    other.serve("api::other", () => "other");
    third.serve("api::third", () => "third");
    expect(await bind(guest, "api::cond", { api_path: "/a" })).toMatchObject({ status: "active" });
    expect(await bind(other, "api::other", { api_path: "/a" })).toMatchObject({ status: "active" });
    expect(await bind(third, "api::third", { api_path: "/a" })).toMatchObject({ status: "error" });
    expect(await bind(worker, "api::cond", { api_path: "/a" })).toMatchObject({
      status: "error",
      reason: "route taken by api::other",
    });

    // "third" was registered before the binding became a trusted one.
    const next = standing(third, "active");
    other.say({
      type: "unregistertrigger",
      id: engine.directory.triggers().find(({ function_id }) => function_id === "api::other")?.id,
    });
    await next;
    expect(await (await fetch(`${url}/a`)).json()).toBe("third");
  });

  it("goes at once with its connection, also when the function lives on", async () => {
    const { engine, worker, url } = await site();
    worker.serve("api::open", () => "open");
    const guest = await restricted(engine, "guest");
    await bind(guest, "api::open", { api_path: "/open" });
    expect(await (await fetch(`${url}/open`)).json()).toBe("open");
    await closed(engine, guest);
    expect((await fetch(`${url}/open`)).status).toBe(404);
    expect(engine.directory.triggers()).toEqual([]);
  });
});

describe("a route whose worker is away", () => {
  it("answers 503 although another worker provides the function, until the worker is back or given up", async () => {
    const clock = manualClock();
    const { engine, worker, url } = await site({ clock });
    const library = await engine.connectWorker({ name: "library" });
    library.serve("api::shared", () => "shared");
    await bind(worker, "api::shared", { api_path: "/shared" });
    expect(await (await fetch(`${url}/shared`)).json()).toBe("shared");
    await closed(engine, worker);

    const away = await fetch(`${url}/shared`);
    expect([away.status, away.headers.get("retry-after")]).toEqual([503, "1"]);
    expect((await errorOf(away)).message).toBe("the worker that serves /shared is away");

    const again = await engine.connectWorker();
    await bind(again, "api::shared", { api_path: "/shared" });
    expect(await (await fetch(`${url}/shared`)).json()).toBe("shared");
    await closed(engine, again);
    clock.advance(60_000);
    expect((await fetch(`${url}/shared`)).status).toBe(404);
  });

  it("is served at once by the worker in line, and by its worker again if that comes back within 60 s (decision 43)", async () => {
    const clock = manualClock();
    const { engine, worker, url } = await site({ clock });
    const other = await engine.connectWorker({ name: "other" });
    other.serve("api::other", () => "other");
    await serve(worker, "/shop", () => "owner");
    expect(await bind(other, "api::other", { api_path: "/shop" })).toMatchObject({ status: "error" });
    const answer = async (): Promise<unknown> => (await fetch(`${url}/shop`)).json();
    const taken = standing(other, "active");
    await closed(engine, worker);
    await taken;
    expect(await answer()).toBe("other");
    expect(engine.directory.triggers()).toMatchObject([
      { function_id: "test::/shop", status: "inactive", reason: "the worker that asked for it is away" },
      { function_id: "api::other", status: "active" },
    ]);

    clock.advance(59_000);
    const lost = standing(other, "error");
    const again = await engine.connectWorker();
    await serve(again, "/shop", () => "owner");
    expect(await lost).toMatchObject({ reason: "route taken by test::/shop" });
    expect(await answer()).toBe("owner");

    await closed(engine, again);
    clock.advance(60_000);
    const late = await engine.connectWorker();
    late.serve("test::/shop", () => "owner");
    expect(await bind(late, "test::/shop", { api_path: "/shop" })).toMatchObject({
      status: "error",
      reason: "route taken by api::other",
    });
    expect(await answer()).toBe("other");
  });

  it("passes by restricted connections in line, also one that registered the same trigger (K2)", async () => {
    const { engine, worker, url } = await site({ clock: manualClock() });
    const library = await engine.connectWorker({ name: "library" });
    library.serve("api::shared", () => "shared");
    const guest = await restricted(engine, "guest");
    guest.serve("pay", () => "guest");
    await bind(worker, "api::shared", { api_path: "/shared" });
    expect(await bind(guest, "pay", { api_path: "/shared" })).toMatchObject({ status: "error" });
    await closed(engine, worker);
    expect((await fetch(`${url}/shared`)).status).toBe(503);
    expect(await bind(guest, "api::shared", { api_path: "/shared" })).toMatchObject({ status: "active" });
    library.serve("api::other", () => "other");
    expect(await bind(library, "api::other", { api_path: "/shared" })).toMatchObject({ status: "active" });
    expect(await (await fetch(`${url}/shared`)).json()).toBe("other");
  });

  it("is kept for it although a restricted connection joined and left meanwhile (K2)", async () => {
    const { engine, worker, url } = await site({ clock: manualClock() });
    const library = await engine.connectWorker({ name: "library" });
    library.serve("api::shared", () => "shared");
    await bind(worker, "api::shared", { api_path: "/shared" });
    await closed(engine, worker);
    const guest = await restricted(engine, "guest");
    expect(await bind(guest, "api::shared", { api_path: "/shared" })).toMatchObject({ status: "active" });
    await closed(engine, guest);
    expect((await fetch(`${url}/shared`)).status).toBe(503);
  });
});

describe("a route of a trusted worker that did not come back", () => {
  const guestSees = async (guest: InMemoryWorker): Promise<string[]> => {
    const seen: string[] = [];
    guest.serve("users", (data) => {
      seen.push(JSON.stringify(data));
      return "guest";
    });
    await bind(guest, "users", { api_path: "/users/:id" });
    await bind(guest, "users", { api_path: "/users/:id", http_method: "POST" });
    await bind(guest, "users", { api_path: "/*rest" });
    return seen;
  };
  const ask = async (url: string): Promise<number[]> => {
    const authorization = { headers: { authorization: "Bearer secret" } };
    const answers = [
      fetch(`${url}/users/1`, authorization),
      fetch(`${url}/users/1`, { method: "POST", ...authorization }),
    ];
    return (await Promise.all(answers)).map(({ status }) => status);
  };

  it("reaches no restricted connection until a trusted worker unregisters its trigger", async () => {
    const clock = manualClock();
    const { engine, worker, url } = await site({ clock });
    await serve(worker, "/users/:id", () => "trusted");
    const guest = await restricted(engine, "guest");
    const seen = await guestSees(guest);
    await closed(engine, worker);
    expect(await ask(url)).toEqual([503, 405]);
    clock.advance(61_000);
    expect(await ask(url)).toEqual([404, 404]);
    expect(await bind(guest, "users", { api_path: "/users/me" })).toMatchObject({
      status: "error",
      reason: "path reserved: a trusted worker served GET /users/:id and may come back",
    });
    expect(seen).toEqual([]);
    expect(await (await fetch(`${url}/other`)).json()).toBe("guest");

    const again = await engine.connectWorker();
    await serve(again, "/users/:id", () => "trusted");
    expect(await ask(url)).toEqual([200, 405]);
    const freed = standing(guest, "active");
    again.say({ type: "unregistertrigger", id: lastTriggerId() });
    await freed;
    expect(await (await fetch(`${url}/users/1`)).json()).toBe("guest");
  });

  it("reaches none after a restart of the engine either, and is free after a restart once it was unregistered", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "svc-http-"));
    const first = await site({ dataDir });
    await serve(first.worker, "/users/:id", () => "trusted");
    await serve(first.worker, "/gone", () => "trusted");
    first.worker.say({ type: "unregistertrigger", id: lastTriggerId() });
    first.worker.say({ type: "ping" });
    await first.worker.next((frame) => frame.type === "pong");
    await closed(first.engine, first.worker);
    await first.engine.stop();

    const { engine, url } = await site({ dataDir });
    const guest = await restricted(engine, "guest");
    const seen = await guestSees(guest);
    expect(await ask(url)).toEqual([404, 404]);
    expect(seen).toEqual([]);
    expect(await (await fetch(`${url}/gone`)).json()).toBe("guest");
    await rm(dataDir, { recursive: true });
  });
});

describe("a restricted route that differs from a trusted one by its trailing slash alone", () => {
  it("gets none of its requests where trailing slashes are ignored", async () => {
    const clock = manualClock();
    const { engine, worker, url } = await site({ clock, config: { ignore_trailing_slash: true } });
    await serve(worker, "/users/:id", () => "trusted");
    const guest = await restricted(engine, "guest");
    guest.serve("users", () => "guest");
    for (const api_path of ["/users/:id/", "/own/:id/"]) await bind(guest, "users", { api_path });
    await bind(guest, "users", { api_path: "/users/:id/", http_method: "POST" });
    const ask = async (): Promise<number[]> => {
      const answers = ["/users/1", "/users/1/"].flatMap((path) => [
        fetch(`${url}${path}`),
        fetch(`${url}${path}`, { method: "POST" }),
      ]);
      return (await Promise.all(answers)).map(({ status }) => status);
    };
    expect(await (await fetch(`${url}/users/1/`)).json()).toBe("trusted");
    expect(await ask()).toEqual([200, 405, 200, 405]);
    expect(await (await fetch(`${url}/own/1`)).json()).toBe("guest");
    await closed(engine, worker);
    expect(await ask()).toEqual([503, 405, 503, 405]);
    clock.advance(61_000);
    expect(await ask()).toEqual([404, 404, 404, 404]);
  });
});

describe("requests to routes of restricted connections", () => {
  it("have a share of the limit, so that functions that hang leave room for the owner's routes", async () => {
    const { engine, worker, url } = await site({ config: { concurrency_request_limit: 16 } });
    const hangs = held();
    for (const name of ["one", "two", "three", "four", "five"]) {
      const guest = await restricted(engine, name);
      guest.serve(`${name}::hang`, hangs.handle);
      await bind(guest, `${name}::hang`, { api_path: `/${name}` });
    }
    await serve(worker, "/owner", () => "served");
    const answers: Promise<Response>[] = [];
    const ask = (path: string, count: number): void => {
      for (let n = 0; n < count; n++) answers.push(fetch(`${url}${path}`));
    };
    ask("/one", 2);
    await hangs.calls.count(2);
    // An eighth for each of them.
    const beyond = await fetch(`${url}/one`);
    expect([beyond.status, beyond.headers.get("retry-after"), (await errorOf(beyond)).message]).toEqual([
      503,
      "1",
      "too many requests are in flight on the routes of this route's owner (a share of concurrency_request_limit of svc-http)",
    ]);
    for (const name of ["two", "three", "four"]) ask(`/${name}`, 2);
    await hangs.calls.count(8);
    // Half for all of them.
    expect((await fetch(`${url}/five`)).status).toBe(503);
    for (let n = 0; n < 3; n++) expect(await (await fetch(`${url}/owner`)).json()).toBe("served");
    hangs.release();
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(new Array(8).fill(200));
    ask("/five", 1);
    await hangs.calls.count(9);
    hangs.release();
    expect((await answers.at(-1))?.status).toBe(200);
  });
});
