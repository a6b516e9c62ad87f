import { afterEach, describe, expect, it } from "vitest";
import type { HttpFunctionRules } from "./http-functions.ts";
import { type HttpFunctionEngine, httpFunctionEngine, RELAXED, STRICT } from "./testing/http-function-engine.ts";

const engines: HttpFunctionEngine[] = [];

afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.stop();
});

async function engineWith(rules: HttpFunctionRules, env: Record<string, string> = {}): Promise<HttpFunctionEngine> {
  const engine = await httpFunctionEngine({ rules: () => rules, env });
  engines.push(engine);
  return engine;
}

describe("the registration of a function reached over HTTP", () => {
  it.each([
    ["https://", /^Invalid URL/],
    ["ftp://files.example/x", /^Invalid URL/],
    ["https://user:pass@api.example/", /^Invalid URL.*auth/],
    ["http://api.example/", /^HTTPS is required.*engine\.http_functions\.require_https: false/],
    ["https://localhost:8080/", /^Private IP blocked.*engine\.http_functions\.block_private_ips: false/],
    ["https://a.localhost./", /^Private IP blocked/],
    ["https://127.0.0.1/", /^Private IP blocked.*loopback/],
    ["https://127.1/", /^Private IP blocked.*loopback/],
    ["https://0x7f000001/", /^Private IP blocked.*loopback/],
    ["https://2130706433/", /^Private IP blocked.*loopback/],
    ["https://0177.0.0.1/", /^Private IP blocked.*loopback/],
    ["https://127。0。0。1/", /^Private IP blocked.*loopback/],
    ["https://169.254.169.254/latest/meta-data/", /^Private IP blocked.*link-local/],
    ["https://[::1]/", /^Private IP blocked.*loopback/],
    ["https://[::ffff:127.0.0.1]/", /^Private IP blocked.*loopback/],
    ["https://[::ffff:a9fe:a9fe]/", /^Private IP blocked.*link-local/],
    ["https://[64:ff9b::10.0.0.1]/", /^Private IP blocked.*private/],
    ["https://[2002:7f00:1::]/", /^Private IP blocked.*6to4/],
    ["https://0/", /^Private IP blocked.*unspecified/],
  ])("with the URL %s is refused, and the worker is told why (K12)", async (url, message) => {
    const engine = await engineWith(STRICT);
    expect(await engine.register("f", { url })).toMatchObject({
      code: "url_validation_failed",
      message: expect.stringMatching(message),
      details: { message_type: "registerfunction", id: "f" },
    });
    expect(engine.directory.functionById("f")).toBeUndefined();
  });

  it("outside of the allow list is refused", async () => {
    const engine = await engineWith({ ...STRICT, urlAllowlist: ["*.example.com", "https://other.test/v1/*"] });
    expect(await engine.register("f", { url: "https://evil.test/" })).toMatchObject({
      code: "url_validation_failed",
      message: "URL not in allowlist: no entry of engine.http_functions.url_allowlist matches https://evil.test:443",
    });
    expect(await engine.register("f", { url: "https://other.test:8443/v1/x?key=k" })).toMatchObject({
      message: expect.stringMatching(/ matches https:\/\/other\.test:8443$/),
    });
    expect(await engine.register("f", { url: "https://other.test/v2/x" })).toMatchObject({
      code: "url_validation_failed",
    });
    expect(await engine.register("f", { url: "https://api.example.com/" })).toBeUndefined();
    expect(await engine.register("g", { url: "https://other.test/v1/x" })).toBeUndefined();
  });

  it("does not ask the network: a machine may be offline when its workers start", async () => {
    const engine = await httpFunctionEngine({
      rules: () => STRICT,
      resolve: () => Promise.reject(new Error("the resolver was asked")),
    });
    engines.push(engine);
    expect(await engine.register("f", { url: "https://api.example/" })).toBeUndefined();
  });

  it.each([
    [{ type: "hmac", secret_key: "NOPE" }, "secret_not_found"],
    [{ type: "bearer", token_key: "NOPE" }, "token_not_found"],
    [{ type: "api_key", header: "X-Key", value_key: "NOPE" }, "api_key_not_found"],
    [{ type: "bearer", token_key: "EMPTY" }, "token_not_found"],
    [{ type: "bearer", token_key: "__proto__" }, "token_not_found"],
    [{ type: "bearer", token_key: "constructor" }, "token_not_found"],
    [{ type: "bearer", token_key: "TWO_LINES" }, "token_not_found"],
    [{ type: "bearer", token_key: "SVC_TOKEN" }, "token_not_found"],
  ])("with %j and no usable secret is refused with %s, without showing anything of it", async (auth, code) => {
    const engine = await engineWith(RELAXED, { EMPTY: "", TWO_LINES: "abc\r\nx-evil: 1", SVC_TOKEN: "engine-token" });
    const error = await engine.register("f", { url: "http://127.0.0.1:1/", auth });
    expect(error).toMatchObject({ code, details: { message_type: "registerfunction", id: "f" } });
    expect(JSON.stringify([error, engine.logs])).not.toMatch(/x-evil|engine-token/);
  });

  it.each([
    [{ headers: { "X-A": "a\r\nX-B: b" } }, "invocation.headers"],
    [{ headers: { "X-A\r\nX-B": "b" } }, "invocation.headers"],
    [{ headers: { "X A": "b" } }, "invocation.headers"],
    [{ headers: { "X-A": "ü" } }, "invocation.headers"],
    [{ headers: { Host: "evil.test" } }, "invocation.headers"],
    [{ headers: { "content-length": "0" } }, "invocation.headers"],
    [{ headers: { "Transfer-Encoding": "chunked" } }, "invocation.headers"],
    [{ headers: { Connection: "close" } }, "invocation.headers"],
    [{ headers: { "X-III-Timestamp": "0" } }, "invocation.headers"],
    [{ headers: { "x-svc-signature": "sha256=0" } }, "invocation.headers"],
    [{ headers: { "X-A": "1", "x-a": "2" } }, "invocation.headers"],
    [{ headers: Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`X-${n}`, "v"])) }, "invocation.headers"],
    [{ headers: { "X-A": "a".repeat(17_000) } }, "invocation.headers"],
    [{ headers: null }, "invocation.headers"],
    [{ auth: { type: "api_key", header: "Host", value_key: "KEY" } }, "invocation.auth.header"],
    [{ auth: { type: "bearer", token_key: "not a name" } }, "invocation.auth.token_key"],
    [{ auth: { type: "magic" } }, "invocation.auth"],
    [{ method: "CONNECT" }, "invocation.method"],
    [{ method: "get" }, "invocation.method"],
    [{ timeout_ms: 0 }, "invocation.timeout_ms"],
    [{ timeout_ms: 86_400_001 }, "invocation.timeout_ms"],
    [{ retry: { attempts: 100 } }, "invocation.retry.attempts"],
    [{ retry: { statuses: [503] } }, "invocation.retry.statuses"],
    [{ retry: { statuses: [200], idempotent: true } }, "invocation.retry.statuses"],
    [{ url: `https://a/${"x".repeat(9_000)}` }, "invocation.url"],
  ])("with %j is refused, naming the member", async (members, where) => {
    const engine = await engineWith(RELAXED, { KEY: "k" });
    const error = await engine.register("f", { url: "http://127.0.0.1:1/", ...members });
    expect(error).toMatchObject({ code: "registration_refused", message: expect.stringContaining(`\`${where}`) });
    expect(engine.directory.functionById("f")).toBeUndefined();
  });

  it("that is refused leaves the former one of the same id in place", async () => {
    const engine = await engineWith(RELAXED);
    await engine.register("f", { url: "http://127.0.0.1:1/" });
    expect(await engine.register("f", { url: "nonsense" })).toBeDefined();
    expect(engine.directory.functionById("f")?.workers).toHaveLength(1);
  });

  it("reads null members as absent ones and ignores unknown ones", async () => {
    const engine = await engineWith(RELAXED);
    expect(
      await engine.register("f", {
        url: "http://127.0.0.1:1/",
        method: null,
        timeout_ms: null,
        auth: null,
        retry: null,
        later: 1,
      }),
    ).toBeUndefined();
  });
});
