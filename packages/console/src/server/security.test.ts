import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { startConsole } from "./console-server.ts";
import { ConsoleListener } from "./listener.ts";
import { errorOf, optionsOf, type TestConsole, testConsole } from "./running-console.test-support.ts";

let served: TestConsole;
beforeAll(async () => {
  served = await testConsole();
});
afterAll(() => served.stop());

const undo: (() => void)[] = [];
afterEach(() => {
  for (const close of undo.splice(0)) close();
});

/** Returns the raw response. */
async function raw(port: number, text: string): Promise<string> {
  const socket = await dial(port);
  let answer = "";
  socket.on("data", (chunk: Buffer) => {
    answer += chunk.toString();
  });
  socket.write(text);
  await once(socket, "close");
  return answer;
}

async function dial(port: number, host = "127.0.0.1"): Promise<Socket> {
  const socket = connect(port, host);
  undo.push(() => socket.destroy());
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** Returns `open`, or the status if the handshake was rejected. */
function handshake(
  port: number,
  protocols: readonly string[],
  headers: Readonly<Record<string, string>> = {},
  path = "/ws/console",
): Promise<"open" | number> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, [...protocols], { headers });
  undo.push(() => socket.terminate());
  return new Promise((resolve, reject) => {
    socket.on("open", () => resolve("open"));
    socket.on("unexpected-response", (_request, response) => resolve(response.statusCode ?? 0));
    socket.on("error", reject);
  });
}

describe("a page of another site", () => {
  it.each([
    ["evil.example:PORT", 421],
    ["evil.example", 421],
    ["localhost.evil.example:PORT", 421],
    ["localhost:1", 421],
    ["localhost", 421],
    ["0.0.0.0:PORT", 421],
    ["127.0.0.1.nip.io:PORT", 421],
    ["localhost:PORT@evil.example", 421],
    ["localhost:PORT", 200],
    ["app.localhost:PORT", 200],
    ["127.0.0.1:PORT", 200],
    ["[::1]:PORT", 200],
  ])("whose name resolves to this machine: Host %j gets %i for pages and calls (W5) (gap 59)", async (host, status) => {
    const headers = { host: host.replace("PORT", String(served.port)) };
    expect((await served.send("/", { headers })).status).toBe(status);
    expect((await served.ask("/api/hello", undefined, { headers })).status).toBe(status);
  });

  it.each([
    "https://evil.example",
    "http://localhost:5173",
    "null",
    "http://127.0.0.1:PORT.evil.example",
    "http://evil.example:PORT",
  ])("with the Origin %s is rejected, even with the page's token (W1) (W2) (W3) (gap 59)", async (written) => {
    const origin = written.replace("PORT", String(served.port));
    const answer = await served.ask("/api/call", { function_id: "engine::info" }, { headers: { origin } });
    expect([answer.status, errorOf(answer).code]).toEqual([403, "FORBIDDEN"]);
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
    expect(await handshake(served.port, [`svc.console.${served.pageToken}`], { origin })).toBe(403);
  });

  it.each([
    [{ "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" }, 403],
    [{ "sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script" }, 403],
    [{ "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" }, 403],
    [{ "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" }, 200],
    [{ "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" }, 200],
    [{ "sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" }, 200],
  ])("that fetches as %j gets %i: only links may be followed (W3) (W4)", async (headers, status) => {
    expect((await served.send("/functions", { headers })).status).toBe(status);
  });

  it("cannot send a form, even as a navigation (W4)", async () => {
    const headers = {
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "navigate",
      "sec-fetch-dest": "document",
      "content-type": "text/plain",
    };
    expect((await served.send("/api/call", { method: "POST", headers, body: "{}" })).status).toBe(403);
  });

  it("gets no permission from a preflight (W3)", async () => {
    const headers = {
      origin: "https://evil.example",
      "access-control-request-method": "POST",
      "access-control-request-headers": "x-svc-console",
    };
    const answer = await served.send("/api/call", { method: "OPTIONS", headers });
    expect(answer.status).toBe(403);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
  });

  it.each(["/", "/functions/x", "/assets/main-1.js", "/favicon.svg", "/assets/nope.js", "/api/hello"])(
    "cannot show %s in a frame (gap 60)",
    async (path) => {
      const { headers } = await served.send(path);
      expect(headers).toMatchObject({
        "x-frame-options": "DENY",
        "x-content-type-options": "nosniff",
        "cross-origin-resource-policy": "same-origin",
      });
      if (!path.startsWith("/assets") && !path.startsWith("/favicon"))
        expect(headers["content-security-policy"]).toContain("frame-ancestors 'none'");
    },
  );
});

describe("the page's token", () => {
  it.each([undefined, "", "x", "a".repeat(43)])("is required for each call; %j is rejected", async (token) => {
    const headers = { "content-type": "application/json", ...(token === undefined ? {} : { "x-svc-console": token }) };
    for (const path of ["/api/hello", "/api/probes"]) expect((await served.send(path, { headers })).status).toBe(401);
    for (const path of ["/api/call", "/api/calls", "/_console/invoke", "/api/http-request", "/api/probes"]) {
      expect((await served.send(path, { method: "POST", headers, body: "{}" })).status).toBe(401);
    }
  });

  it("is required by the socket, on its single path", async () => {
    expect(await handshake(served.port, [])).toBe(401);
    expect(await handshake(served.port, ["svc.console."])).toBe(401);
    expect(await handshake(served.port, [`svc.console.${"x".repeat(43)}`])).toBe(401);
    expect(await handshake(served.port, [`svc.console.${served.pageToken}`], {}, "/ws/other")).toBe(404);
    expect(
      await handshake(served.port, [`svc.console.${served.pageToken}`], { host: `evil.example:${served.port}` }),
    ).toBe(421);
    expect(await handshake(served.port, [`svc.console.${served.pageToken}`])).toBe("open");
  });

  it("belongs to one run: another console's is rejected", async () => {
    const other = await testConsole();
    expect(other.pageToken).toMatch(/^[\w-]{43}$/);
    expect(other.pageToken).not.toBe(served.pageToken);
    expect((await served.send("/api/hello", { headers: { "x-svc-console": other.pageToken } })).status).toBe(401);
    await other.stop();
  });
});

describe("the page's HTML", () => {
  it("contains nothing from the address, the settings or the engine (W12) (gap 60)", async () => {
    const attack = `"><script>alert(1)</script>`;
    const hostile = await testConsole(undefined, ["--otel-service-name", attack]);
    for (const path of [
      `/functions/${encodeURIComponent(attack)}`,
      `/logs?q=${encodeURIComponent(attack)}`,
      `/states/a/b.json`,
    ]) {
      const answer = await hostile.send(path);
      expect(answer.status).toBe(200);
      expect(answer.body).not.toContain("alert");
    }
    await hostile.stop();
  });

  it("allows only scripts of its own origin, and styles with a new nonce each time (W12)", async () => {
    const [first, second] = [await served.send("/"), await served.send("/")];
    const policy = String(first.headers["content-security-policy"]);
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("connect-src 'self';");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    const nonceOf = (text: string): string => /nonce-([\w-]{22})/.exec(text)?.[1] ?? "";
    expect(first.body).toContain(`content="${nonceOf(policy)}"`);
    expect(nonceOf(String(second.headers["content-security-policy"]))).not.toBe(nonceOf(policy));
    expect(first.headers["cache-control"]).toBe("no-store");
  });
});

describe("files", () => {
  it.each([
    "/assets/../../package.json",
    "/assets/..%2f..%2fpackage.json",
    "/assets/%2e%2e/%2e%2e/package.json",
    "/assets/..\\..\\package.json",
    "/assets/%00",
    "/assets/%",
    "/assets//etc/passwd",
    "/..secret.txt",
    "/assets/nope.js",
    "/assets/",
    "/nope.js",
    "/nope.png",
  ])("%s is missing: 404, and never HTML", async (path) => {
    const { status, headers, body } = await served.send(path);
    expect(status).toBe(404);
    expect(headers["content-type"]).toMatch(/^text\/plain/);
    expect(body).not.toMatch(/root:|"name"|^secret/);
  });

  it("are compressed if the browser accepts it, and cached as immutable", async () => {
    const plain = await served.send("/assets/main-1.js");
    expect([plain.status, plain.body, plain.headers["cache-control"]]).toEqual([
      200,
      "export {};\n",
      "public, max-age=31536000, immutable",
    ]);
    for (const [accepted, encoding] of [["br, gzip", "br"] as const, ["gzip", "gzip"] as const]) {
      const { headers } = await served.send("/assets/main-1.js", { headers: { "accept-encoding": accepted } });
      expect(headers).toMatchObject({
        "content-encoding": encoding,
        "content-type": expect.stringMatching(/javascript/),
        vary: "Accept-Encoding",
      });
    }
    expect((await served.send("/favicon.svg")).headers["cache-control"]).toBe("no-cache");
  });

  it("can be rebuilt while the console runs: a deleted file aborts one response, and new files are served", async () => {
    const other = await testConsole();
    try {
      rmSync(join(other.webDir, "assets/main-1.js"));
      await expect(other.send("/assets/main-1.js")).rejects.toThrow(/hang up|aborted|ECONNRESET/);
      rmSync(join(other.webDir, "index.html"));
      expect((await other.send("/functions")).status).toBe(200);
      writeFileSync(join(other.webDir, "assets/main-2.js"), "export const two = 2;\n");
      writeFileSync(join(other.webDir, "index.html"), '<!doctype html><script src="/assets/main-2.js"></script>');
      expect((await other.send("/functions")).body).toContain("main-2.js");
      expect((await other.send("/assets/main-2.js")).body).toBe("export const two = 2;\n");
      expect((await other.send("/assets/main-1.js")).status).toBe(404);
    } finally {
      await other.stop();
    }
  });

  it("and pages are read only", async () => {
    for (const path of ["/", "/functions", "/assets/main-1.js"]) {
      for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"]) {
        expect([path, method, (await served.send(path, { method })).status]).toEqual([path, method, 405]);
      }
      expect((await served.send(path, { method: "HEAD" })).body).toBe("");
    }
  });
});

describe("malformed requests", () => {
  it("to the API are rejected by method, type, size and shape", async () => {
    expect((await served.ask("/api/call")).status).toBe(405);
    expect((await served.ask("/api/hello", {})).headers.allow).toBe("GET");
    expect((await served.ask("/api/__proto__", {})).status).toBe(404);
    expect((await served.ask("/api/call", {}, { headers: { "content-type": "text/plain" } })).status).toBe(415);
    expect((await served.ask("/api/call", "{")).status).toBe(400);
    expect((await served.ask("/api/call", { function_id: "" })).status).toBe(400);
    expect(
      errorOf(
        await served.ask("/api/call", `{"function_id":"engine::info","payload":"${"x".repeat(17 * 1024 * 1024)}"}`),
      ).code,
    ).toBe("payload_too_large");
  });

  it.each([
    ["to another host's address", "GET http://evil.example/ HTTP/1.1\r\nHost: localhost:PORT\r\n", "400"],
    ["with two hosts", "GET / HTTP/1.1\r\nHost: localhost:PORT\r\nHost: evil.example\r\n", "400"],
    ["without a host", "GET / HTTP/1.1\r\n", "421"],
    ["that are not HTTP", "nonsense\r\n", "400"],
    ["with a huge head", `GET / HTTP/1.1\r\nHost: localhost:PORT\r\nx: ${"a".repeat(20_000)}\r\n`, "431"],
    ["with two slashes", "GET //evil.example/%2e%2e HTTP/1.1\r\nHost: localhost:PORT\r\n", "200"],
  ])("%s get %3$s", async (_name, head, status) => {
    const text = `${head.replace("PORT", String(served.port))}Connection: close\r\n\r\n`;
    expect(await raw(served.port, text)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  it("with slow headers are aborted (1.4) (W11)", async () => {
    const listener = new ConsoleListener({
      host: "127.0.0.1",
      port: 0,
      headersTimeoutMs: 200,
      onRequest: (_request, response) => response.end(),
      onUpgrade: (_request, stream) => stream.destroy(),
    });
    await listener.listen();
    const socket = await dial(listener.port);
    socket.resume();
    socket.write("GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ");
    const dripping = setInterval(() => socket.write("a"), 30);
    undo.push(() => clearInterval(dripping));
    await once(socket, "close");
    await listener.close();
  });

  it("on the socket get an error and keep it open; a frame over the limit closes it", async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${served.port}/ws/console`, [`svc.console.${served.pageToken}`]);
    undo.push(() => socket.terminate());
    const received = new Promise<string>((resolve) => {
      let all = "";
      socket.on("message", (data) => {
        all += data.toString();
        if (all.includes("pong")) resolve(all);
      });
    });
    await once(socket, "open");
    for (const text of [
      "{",
      "[]",
      '{"type":"nope"}',
      '{"type":"subscribe","id":"","stream":"a","group":"b"}',
      '{"type":"ping","t":1}',
    ])
      socket.send(text);
    expect((await received).match(/invalid_message/g)).toHaveLength(4);
    socket.send("x".repeat(70_000));
    expect((await once(socket, "close"))[0]).toBe(1009);
  });
});

describe("off loopback", () => {
  const token = "0123456789abcdef-token";
  const basic = `Basic ${Buffer.from(`svc:${token}`).toString("base64")}`;
  let open: TestConsole;
  beforeAll(async () => {
    open = await testConsole(undefined, ["--host", "0.0.0.0"], { SVC_TOKEN: token });
  });
  afterAll(() => open.stop());

  it("a token is required to start", async () => {
    await expect(startConsole(optionsOf(["--host", "0.0.0.0", "--port", "0"]))).rejects.toThrow(
      /--token-file FILE or SVC_TOKEN/,
    );
  });

  it.each([
    ["nothing", {}],
    ["the token as password", { authorization: basic }],
    ["the token", { authorization: `Bearer ${token}` }],
    ["a cookie", { cookie: `svc_console=${token}` }],
    ["the token as the page's", { "x-svc-console": token }],
  ])("a request with %s has no session: the page has no token, and its calls are rejected", async (_name, headers) => {
    const page = await open.send(`/workers?token=${token}`, { headers });
    expect([page.status, page.headers["set-cookie"], page.headers.location]).toEqual([200, undefined, undefined]);
    expect(page.body).toContain('svc-page-token" content=""');
    expect(page.body).not.toContain(token);
    const answer = await open.send("/api/hello", { headers });
    expect([answer.status, errorOf(answer).code, answer.headers["x-svc-console-login"]]).toEqual([
      401,
      "login_required",
      "required",
    ]);
    expect(answer.headers["www-authenticate"]).toBeUndefined();
    expect(await handshake(open.port, [`svc.console.${token}`], headers)).toBe(401);
  });

  it("a login needs the engine: it fails while the engine is not reachable", async () => {
    const headers = { "content-type": "application/json" };
    const answer = await open.send("/api/login", { method: "POST", headers, body: JSON.stringify({ token }) });
    expect([answer.status, errorOf(answer).code]).toEqual([503, "disconnected"]);
  });
});

describe("the port", () => {
  it("is bound for IPv4 and IPv6, so that localhost works with either", async () => {
    (await dial(served.port, "127.0.0.1")).end();
    (await dial(served.port, "::1")).end();
  });

  it("that is in use is reported", async () => {
    await expect(testConsole(undefined, ["--port", String(served.port)])).rejects.toThrow(
      new RegExp(`port ${served.port} is in use .* choose another port`),
    );
  });

  it("is served under an allowed name, also behind a proxy without port", async () => {
    const named = await testConsole(undefined, ["--allowed-host", "console.example.org"]);
    for (const host of ["console.example.org", `console.example.org:${named.port}`, "console.example.org:8443"]) {
      expect((await named.send("/", { headers: { host } })).status).toBe(200);
    }
    const headers = { host: "console.example.org", origin: "https://console.example.org" };
    expect((await named.ask("/api/hello", undefined, { headers })).status).toBe(200);
    expect((await named.send("/", { headers: { host: "evil.example" } })).status).toBe(421);
    await named.stop();
  });
});
