import { describe, expect, it } from "vitest";
import { manualClock } from "../../testing/index.ts";
import { bind, errorOf, held, post, serve, site } from "./testing/site.ts";

describe("what a function is told", () => {
  it("has real path, client, request id, cookies and every value of repeated names (gap 27)", async () => {
    const { worker, url } = await site();
    await serve(worker, "/who/:id", (input) => ({ body: input }));

    const response = await fetch(`${url}/who/7?a=1&a=2`, { headers: { cookie: "s=one; s=two; x=%20y; __proto__=p" } });

    const seen = (await response.json()) as Record<string, unknown>;
    expect(seen).toMatchObject({
      path: "/who/:id",
      url: "/who/7?a=1&a=2",
      client_address: "127.0.0.1",
      protocol: "http",
      host: new URL(url).host,
      query: { a: ["1", "2"] },
      context: {},
      request_id: response.headers.get("x-request-id"),
    });
    expect(Object.entries(seen.cookies as object)).toEqual([
      ["s", "one"],
      ["x", " y"],
      ["__proto__", "p"],
    ]);
  });

  it("believes forwarded headers of trusted proxies only, and walks them from the right (gap 27)", async () => {
    const headers = {
      "x-forwarded-for": "6.6.6.6, 203.0.113.9, 10.1.2.3",
      "x-forwarded-proto": "https",
      "x-forwarded-host": "shop.example",
      "x-request-id": "abc-1",
    };
    const seen = async (config: Record<string, unknown>): Promise<unknown[]> => {
      const { worker, url } = await site({ config });
      await serve(worker, "/who", (input) => ({ body: input }));
      const response = await fetch(`${url}/who`, { headers });
      const body = (await response.json()) as Record<string, unknown>;
      return [body.client_address, body.protocol, body.host === "shop.example", body.request_id === "abc-1"];
    };
    expect(await seen({})).toEqual(["127.0.0.1", "http", false, false]);
    expect(await seen({ trusted_proxies: ["loopback", "10.0.0.0/8"] })).toEqual(["203.0.113.9", "https", true, true]);
    expect(await seen({ trusted_proxies: ["loopback"] })).toEqual(["10.1.2.3", "https", true, true]);
    expect(await seen({ trusted_proxies: ["192.0.2.1"] })).toEqual(["127.0.0.1", "http", false, false]);
    expect(await seen({ request_id_header: "X-Request-Id" })).toEqual(["127.0.0.1", "http", false, true]);
  });

  it("has the fields of a form as strings and with all their values (gap 23)", async () => {
    const { worker, url } = await site();
    await serve(worker, "/form", ({ body, form }) => ({ body: [body, form] }), { http_method: "POST" });
    expect(await (await post(`${url}/form`, "a=1&a=2&b=x+y", "application/x-www-form-urlencoded")).json()).toEqual([
      { a: "2", b: "x y" },
      { a: ["1", "2"], b: ["x y"] },
    ]);
  });
});

describe("a path", () => {
  it("may end in a slash or not when the config says so", async () => {
    const { worker, url } = await site({ config: { ignore_trailing_slash: true } });
    await serve(worker, "/a", () => "a");
    await serve(worker, "/b/", () => "b");
    await serve(worker, "/c", () => "without");
    await serve(worker, "/c/", () => "with");
    const get = async (path: string): Promise<unknown> => (await fetch(`${url}${path}`)).json();
    expect([
      await get("/a/"),
      await get("/a"),
      await get("/b"),
      await get("/b/"),
      await get("/c"),
      await get("/c/"),
    ]).toEqual(["a", "a", "b", "b", "without", "with"]);
    expect(
      (await fetch(`${url}/a/`, { method: "POST", headers: { "content-type": "text/plain" }, body: "x" })).status,
    ).toBe(405);
    expect((await fetch(`${url}/d/`)).status).toBe(404);
  });

  it("that no route has is answered by the function for that, with 404 unless it says otherwise", async () => {
    const { worker, url } = await site({ config: { not_found_function: "test::lost" } });
    expect((await errorOf(await fetch(`${url}/nowhere`))).code).toBe("not_found");
    worker.serve("test::lost", (data) => {
      const { url: asked, trigger } = data as { url: string; trigger: unknown };
      return asked === "/moved" ? { status_code: 308, headers: { location: "/new" } } : { asked, trigger };
    });
    await serve(worker, "/here", () => 1);

    const lost = await fetch(`${url}/nowhere?x=1`);
    expect([lost.status, await lost.json()]).toEqual([
      404,
      { asked: "/nowhere?x=1", trigger: { type: "http", path: "*", method: "*" } },
    ]);
    expect((await fetch(`${url}/moved`, { redirect: "manual" })).status).toBe(308);
    expect((await fetch(`${url}/here`, { method: "DELETE" })).status).toBe(405);
  });
});

describe("pages of other origins", () => {
  const page = "https://app.example";
  const preflight = (url: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(url, { method: "OPTIONS", headers: { origin: page, "access-control-request-method": "PUT", ...headers } });

  it("get no permission unless the config gives it (gap 32) (W10)", async () => {
    const { worker, url } = await site();
    await serve(worker, "/x", () => 1, { http_method: "PUT" });
    const answers = [
      await preflight(`${url}/x`),
      await fetch(`${url}/x`, { method: "PUT", headers: { origin: page } }),
    ];
    for (const { headers } of answers)
      expect([...headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
  });

  it("may do what the config says: origins, methods, headers, credentials, exposed headers, max age (gap 32)", async () => {
    const cors = {
      allowed_origins: [page],
      allowed_methods: ["PUT"],
      allowed_headers: ["X-One"],
      exposed_headers: ["X-Total", "X-Page"],
      credentials: true,
      max_age: 600,
    };
    const { worker, url } = await site({ config: { cors } });
    await serve(worker, "/x", () => ({ headers: { vary: "Accept", "access-control-allow-origin": "*" }, body: 1 }), {
      http_method: "PUT",
    });

    const allowed = await preflight(`${url}/x`, { "access-control-request-headers": "x-one" });
    expect(allowed.status).toBe(204);
    expect(Object.fromEntries(allowed.headers)).toMatchObject({
      "access-control-allow-origin": page,
      "access-control-allow-methods": "PUT",
      "access-control-allow-headers": "x-one",
      "access-control-allow-credentials": "true",
      "access-control-max-age": "600",
      vary: expect.stringContaining("Origin"),
    });
    for (const headers of [
      { origin: "https://evil.example" },
      { origin: "null" },
      { "access-control-request-method": "DELETE" },
      { "access-control-request-headers": "x-two" },
    ]) {
      expect(
        (await preflight(`${url}/x`, headers as unknown as Record<string, string>)).headers.get(
          "access-control-allow-origin",
        ),
      ).toBeNull();
    }

    const answer = await fetch(`${url}/x`, { method: "PUT", headers: { origin: page } });
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "access-control-allow-origin": page,
      "access-control-allow-credentials": "true",
      "access-control-expose-headers": "X-Total, X-Page",
      vary: "Accept, Origin",
    });
    const foreign = await fetch(`${url}/x`, { method: "PUT", headers: { origin: "https://evil.example" } });
    expect([foreign.headers.get("access-control-allow-origin"), foreign.headers.get("vary")]).toEqual([
      null,
      "Accept, Origin",
    ]);
    // A page can read why its request failed.
    expect(
      (await fetch(`${url}/nowhere`, { headers: { origin: page } })).headers.get("access-control-allow-origin"),
    ).toBe(page);
  });

  it("have the permission of the route before that of the engine (gap 32)", async () => {
    const { worker, url } = await site({ config: { cors: { allowed_origins: [page] } } });
    await serve(worker, "/open", () => 1, { http_method: "PUT", cors: { allowed_origins: ["*"] } });
    await serve(worker, "/closed", () => 1, { http_method: "PUT", cors: false });
    expect((await preflight(`${url}/open`)).headers.get("access-control-allow-origin")).toBe("*");
    expect((await preflight(`${url}/closed`)).headers.get("access-control-allow-origin")).toBeNull();
    const open = await fetch(`${url}/open`, { method: "PUT", headers: { origin: page } });
    expect([open.headers.get("access-control-allow-origin"), open.headers.get("vary")]).toEqual(["*", null]);
    expect(
      (await fetch(`${url}/closed`, { method: "PUT", headers: { origin: page } })).headers.get(
        "access-control-allow-origin",
      ),
    ).toBeNull();
  });
});

describe("limits", () => {
  it("let requests wait in a bounded line, in order, and turn the rest away with Retry-After (gap 26)", async () => {
    const { worker, url } = await site({ config: { concurrency_request_limit: 1, queue_limit: 1 } });
    const { handle, calls, release } = held();
    await serve(worker, "/hold", handle);
    const first = fetch(`${url}/hold`);
    await calls.count(1);
    const others = [fetch(`${url}/hold`), fetch(`${url}/hold`)];

    const refused = await Promise.race(others);
    expect([refused.status, refused.headers.get("retry-after"), (await errorOf(refused)).code]).toEqual([
      503,
      "1",
      "overloaded",
    ]);
    release();
    expect((await first).status).toBe(200);
    await calls.count(2);
    release();
    expect((await Promise.all(others)).map(({ status }) => status).sort()).toEqual([200, 503]);
  });

  it("hold for a route of its own, whose line is left when the time is over or the client goes (gap 26)", async () => {
    const clock = manualClock();
    const { worker, url } = await site({ clock });
    const { handle, calls, release } = held();
    await serve(worker, "/one", handle, { concurrency_limit: 1, queue_limit: 2, timeout_ms: 5_000, streaming: false });
    await serve(worker, "/other", () => "free");
    const first = fetch(`${url}/one`);
    await calls.count(1);
    const before = clock.pendingTimers;
    const leaver = new AbortController();
    const left = fetch(`${url}/one`, { signal: leaver.signal }).catch(() => "gone");
    const late = fetch(`${url}/one`);
    await expect.poll(() => clock.pendingTimers).toBe(before + 2);
    expect(await (await fetch(`${url}/other`)).json()).toBe("free");

    leaver.abort();
    await left;
    await expect.poll(() => clock.pendingTimers).toBe(before + 1);
    clock.advance(4_999);
    clock.advance(1);
    expect((await late).status).toBe(503);
    expect((await first).status).toBe(504);
    release();
    const again = fetch(`${url}/one`);
    await calls.count(2);
    release();
    expect((await again).status).toBe(200);
  });

  it("count the requests of each client and answer 429 with the time to wait (gap 26)", async () => {
    const clock = manualClock();
    const { worker, url } = await site({ clock, config: { trusted_proxies: ["loopback"] } });
    await serve(worker, "/metered", () => 1, { rate_limit: { requests: 2, per_ms: 10_000 } });
    const ask = (client: string): Promise<Response> =>
      fetch(`${url}/metered`, { headers: { "x-forwarded-for": client } });

    expect([(await ask("192.0.2.1")).status, (await ask("192.0.2.1")).status]).toEqual([200, 200]);
    const refused = await ask("192.0.2.1");
    expect([refused.status, refused.headers.get("retry-after"), (await errorOf(refused)).code]).toEqual([
      429,
      "5",
      "rate_limited",
    ]);
    expect((await ask("192.0.2.2")).status).toBe(200);
    clock.advance(5_000);
    expect([(await ask("192.0.2.1")).status, (await ask("192.0.2.1")).status]).toEqual([200, 429]);
  });

  it("of bodies may differ for a route (gap 21)", async () => {
    const { worker, url } = await site({ config: { body_limit: 1_000 } });
    await serve(worker, "/small", () => 1, { http_method: "POST", body_limit_bytes: 10 });
    await serve(worker, "/big", () => 1, { http_method: "POST", body_limit_bytes: 10_000 });
    const body = JSON.stringify("x".repeat(2_000));
    expect([(await post(`${url}/small`, '"0123456789"')).status, (await post(`${url}/big`, body)).status]).toEqual([
      413, 200,
    ]);
  });
});

describe("compression", () => {
  const text = "compressible ".repeat(200);

  it("happens for clients that take it, when it is worth it (gap 33)", async () => {
    const { worker, url } = await site();
    await serve(worker, "/big", () => ({ headers: { etag: '"1"' }, body: text }));
    await serve(worker, "/small", () => "small");
    await serve(worker, "/plain", () => text, { compression: false });
    await serve(worker, "/fixed", () => ({
      headers: { "cache-control": "public, no-transform", "content-type": "text/plain" },
      body: text,
    }));
    await serve(worker, "/image", () => ({ headers: { "content-type": "image/png" }, body: text }));
    await serve(worker, "/encoded", () => ({
      headers: { "content-type": "text/plain", "content-encoding": "zstd" },
      body: text,
    }));
    const ask = async (path: string, accept: string): Promise<unknown[]> => {
      const response = await fetch(`${url}${path}`, { headers: { "accept-encoding": accept } });
      await response.text();
      return [response.headers.get("content-encoding"), response.headers.get("vary")];
    };

    expect(await ask("/big", "gzip, br")).toEqual(["br", "Accept-Encoding"]);
    expect(await ask("/big", "gzip;q=1, br;q=0.5")).toEqual(["gzip", "Accept-Encoding"]);
    expect(await ask("/big", "*")).toEqual(["br", "Accept-Encoding"]);
    expect(await ask("/big", "gzip;q=0, identity")).toEqual([null, "Accept-Encoding"]);
    for (const path of ["/small", "/plain", "/fixed", "/image"]) expect(await ask(path, "gzip")).toEqual([null, null]);
    const zipped = await fetch(`${url}/big`, { headers: { "accept-encoding": "gzip" } });
    expect([zipped.headers.get("etag"), await zipped.json()]).toEqual(['W/"1"', text]);
    const encoded = await fetch(`${url}/encoded`, { method: "HEAD", headers: { "accept-encoding": "gzip" } });
    expect(encoded.headers.get("content-encoding")).toBe("zstd");
  });
});

describe("errors in the older shape", () => {
  it("carry the message alone when the config says so", async () => {
    const { worker, url } = await site({ config: { error_format: "legacy" } });
    worker.serve("test::no", () => false);
    await serve(worker, "/boom", () => {
      throw new Error("it broke");
    });
    await serve(worker, "/guarded", () => 1, { condition_function_id: "test::no" });
    expect(await (await fetch(`${url}/boom`)).json()).toEqual({
      error: "it broke",
      error_id: expect.stringMatching(/^[0-9a-f]{12}$/),
    });
    expect(await (await fetch(`${url}/guarded`)).json()).toMatchObject({
      error: expect.stringContaining("condition"),
      skipped: true,
    });
  });
});

describe("what a handler throws", () => {
  const throwing = async (
    options: Parameters<typeof site>[0],
  ): Promise<{ readonly seen: unknown[]; readonly log: unknown }> => {
    const { worker, url, engine } = await site(options);
    await serve(worker, "/throws", () => {
      throw new TypeError("no column users.secret");
    });
    worker.serve("mw::throws", () => {
      throw new TypeError("no column users.secret");
    });
    await serve(worker, "/guarded", () => 1, { middleware_function_ids: ["mw::throws"] });
    worker.say({ type: "registerfunction", id: "test::chooses" });
    await bind(worker, "test::chooses", { api_path: "/chosen" });
    void worker
      .next((frame) => frame.type === "invokefunction" && frame.function_id === "test::chooses")
      .then((frame) =>
        worker.say({
          type: "invocationresult",
          invocation_id: frame.invocation_id,
          function_id: frame.function_id,
          error: { code: "NOT_FOUND", message: "no order 7" },
        }),
      );
    const seen: unknown[] = [];
    for (const path of ["/throws", "/guarded", "/chosen"]) {
      const response = await fetch(`${url}${path}`);
      const { code, message } = await errorOf(response);
      seen.push([response.status, code, message]);
    }
    return { seen, log: engine.logs.find(({ message }) => message === "a request failed")?.fields.reason };
  };

  it("is told to clients while the engine is only for its developer", async () => {
    const { seen } = await throwing({});
    expect(seen).toEqual([
      [500, "invocation_failed", "no column users.secret"],
      [500, "invocation_failed", "no column users.secret"],
      [404, "NOT_FOUND", "no order 7"],
    ]);
  });

  it("is kept from strangers, and stands in the log by its error_id; an error with a code of its own was chosen for them (1.4)", async () => {
    const { seen, log } = await throwing({ production: true });
    const generic = "the function failed; the engine's log has the reason, by this error_id";
    expect(seen).toEqual([
      [500, "invocation_failed", generic],
      [500, "invocation_failed", generic],
      [404, "NOT_FOUND", "no order 7"],
    ]);
    expect(log).toBe("no column users.secret");
  });
});
