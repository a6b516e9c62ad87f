// A page of another site in the browser of the engine's owner (section 1.2 of the threat model). The headers are those
// of browsers.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type ConsoleProcess, spawnConsole } from "../console/support/console-process.ts";
import type { Client } from "./support/client.ts";
import { handshake, send } from "./support/requests.ts";
import { type Site, startSite } from "./support/site.ts";

const ALLOWED = "http://localhost:5173";
const EVIL = "https://evil.example";
const JSON_TYPE = { "content-type": "application/json" };

let site: Site;
let owner: Client;
let consoleProcess: ConsoleProcess;
let pageToken: string;
let calls = 0;

beforeAll(async () => {
  site = await startSite(
    ({ restricted }) => `
engine:
  allowed_origins: ["${ALLOWED}"]
  max_connections_per_address: 40
  bridges:
    - { port: ${restricted}, rbac: {} }
workers:
  - name: svc-http
  - name: svc-state
  - name: svc-stream
`,
  );
  owner = site.owner;
  await owner.serve("owner::touch", () => ++calls);
  await owner.serve("owner::page", () => ({ status_code: 200, headers: { "x-own": "1" }, body: { secret: 4711 } }));
  expect(await owner.bind("http", "owner::page", { api_path: "/page" })).toMatchObject({ status: "active" });
  await owner.result("state::set", {
    scope: "s",
    key: '<img src=x onerror="steal()">',
    value: "<script>steal()</script>",
  });
  consoleProcess = await spawnConsole({ engine: site.ports });
  pageToken = /svc-page-token" content="([^"]+)"/.exec((await send(consoleProcess.url)).body)?.[1] ?? "";
});
afterAll(async () => {
  await consoleProcess?.stop();
  await site?.stop();
});

const sockets: Socket[] = [];
/** The control of every test: nothing was called, and the owner's worker, route, page and allowed page work. */
afterEach(async () => {
  await Promise.all(
    sockets.splice(0).map(async (socket) => {
      const closed = socket.closed ? undefined : once(socket, "close");
      socket.destroy();
      await closed;
    }),
  );
  expect(calls).toBe(0);
  expect(await owner.result("owner::touch")).toBe(1);
  calls = 0;
  // The engine counts a connection until it has detected its end.
  await expect.poll(() => handshake(bridge()).catch(() => "closed")).toBe("open");
  await expect.poll(() => handshake(realtime(), { origin: ALLOWED }).catch(() => "closed")).toBe("open");
  expect(await send(`${site.http}/page`)).toMatchObject({ status: 200, body: '{"secret":4711}' });
  await expect.poll(async () => (await consoleCall({ "x-svc-console": pageToken })).status).toBe(200);
});

const bridge = (): string => `ws://localhost:${site.ports.bridge}/`;
const realtime = (): string => `ws://localhost:${site.ports.realtime}/`;
/** Addresses of every WebSocket of the engine. */
const everySocket = (): string[] => [
  bridge(),
  `${bridge()}otel`,
  `${bridge()}ws/channels/x`,
  `ws://localhost:${site.ports.restricted}/`,
  realtime(),
];
const consoleCall = (headers: Readonly<Record<string, string>>) =>
  send(`${consoleProcess.url}/api/call`, {
    method: "POST",
    headers: { ...JSON_TYPE, ...headers },
    body: '{"function_id":"engine::info","payload":{}}',
  });
const invoke = (headers: Readonly<Record<string, string>>) =>
  send(`${site.http}/_console/invoke`, {
    method: "POST",
    headers,
    body: '{"function_id":"owner::touch","payload":{}}',
  });

describe("a page of another site", () => {
  it("opens no WebSocket of the engine or the console (W1), nor from a sandboxed frame (W2)", async () => {
    for (const origin of [
      EVIL,
      "null",
      `http://localhost:${site.ports.bridge}`,
      `${ALLOWED}.evil.example`,
      "http://localhost:51730",
      "",
    ]) {
      for (const url of everySocket())
        expect([url, origin, await handshake(url, { headers: { origin } })]).toEqual([url, origin, 403]);
      const socket = `${consoleProcess.url.replace("http", "ws")}/ws/console`;
      expect([
        origin,
        await handshake(socket, { headers: { origin }, protocols: [`svc.console.${pageToken}`] }),
      ]).toEqual([origin, 403]);
    }
  });

  it("has no call carried out by a request that needs no preflight (W3), nor by a form or an image (W4)", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]) {
      expect([type, (await invoke({ "content-type": type })).status]).toEqual([type, 415]);
      expect([
        type,
        (await invoke({ "content-type": type, origin: EVIL, "sec-fetch-site": "cross-site" })).status,
      ]).toEqual([type, 403]);
    }
    expect((await invoke({})).status).toBe(415);
    for (const headers of [
      { origin: EVIL },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
    ]) {
      expect([headers, (await invoke({ ...JSON_TYPE, ...headers })).status]).toEqual([headers, 403]);
      expect([headers, (await consoleCall({ ...headers, "x-svc-console": pageToken })).status]).toEqual([headers, 403]);
    }
    for (const query of ["", "?function_id=owner::touch"])
      expect((await send(`${site.http}/_console/invoke${query}`)).status).toBe(405);
    // A preflight is refused, so the browser does not send the request.
    const preflight = {
      origin: EVIL,
      "access-control-request-method": "POST",
      "access-control-request-headers": "content-type",
    };
    for (const url of [`${site.http}/_console/invoke`, `${consoleProcess.url}/api/call`]) {
      const { status, headers } = await send(url, { method: "OPTIONS", headers: preflight });
      expect([url, status >= 400, Object.keys(headers).filter((name) => name.startsWith("access-control"))]).toEqual([
        url,
        true,
        [],
      ]);
    }
    // Requests of the allowed page and of the console are handled.
    expect((await invoke({ ...JSON_TYPE, origin: ALLOWED, "sec-fetch-site": "same-site" })).status).toBe(200);
    calls = 0;
  });

  it("whose name resolves to this machine reads nothing (W5), nor does one that uses 0.0.0.0 (W6)", async () => {
    for (const name of ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "0.0.0.0", "[::]"]) {
      for (const url of everySocket()) {
        const host = `${name}:${new URL(url).port}`;
        expect([url, host, await handshake(url, { headers: { host } })]).toEqual([url, host, 421]);
      }
      for (const url of [
        `${site.http}/page`,
        `${site.http}/_console/invoke`,
        consoleProcess.url,
        `${consoleProcess.url}/api/hello`,
      ]) {
        const host = `${name}:${new URL(url).port}`;
        const answer = await send(url, { headers: { host, "x-svc-console": pageToken } });
        expect([url, host, answer.status]).toEqual([url, host, 421]);
        expect(answer.body).not.toMatch(/4711|svc-page-token/);
      }
    }
  });

  it("loads nothing of the engine or the console as a script (W7), and shows nothing of them in a frame (W8)", async () => {
    for (const url of [
      `${site.http}/_console/invoke`,
      `${site.http}/_console/x`,
      consoleProcess.url,
      `${consoleProcess.url}/api/hello`,
    ]) {
      const { headers } = await send(url);
      expect([url, headers]).toMatchObject([
        url,
        {
          "x-content-type-options": "nosniff",
          "cross-origin-resource-policy": "same-origin",
          "x-frame-options": "DENY",
        },
      ]);
      expect([url, headers["content-security-policy"]]).toEqual([
        url,
        expect.stringContaining("frame-ancestors 'none'"),
      ]);
    }
    const framed = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" };
    expect((await send(consoleProcess.url, { headers: framed })).status).toBe(403);
  });

  it("on another port of this machine uses no cookie and no token of the console (W9)", async () => {
    const page = await send(consoleProcess.url);
    expect(page.headers["set-cookie"]).toBeUndefined();
    expect(pageToken).toMatch(/^[\w-]{43}$/);
    for (const headers of [
      {},
      { cookie: `svc-page-token=${pageToken}; x-svc-console=${pageToken}` },
      { "x-svc-console": "a".repeat(43) },
    ]) {
      expect([headers, (await consoleCall(headers)).status]).toEqual([headers, 401]);
    }
    // Neither page may read the token from the console's page: the response has no CORS header.
    for (const origin of [EVIL, "http://localhost:8080"]) {
      const { headers } = await send(consoleProcess.url, {
        headers: { origin, "sec-fetch-site": "same-site", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" },
      });
      expect(headers["access-control-allow-origin"]).toBeUndefined();
    }
  });

  it("reads no route of the owner: there are no CORS headers unless configured (W10)", async () => {
    for (const origin of [EVIL, "null", ALLOWED]) {
      const { headers, status } = await send(`${site.http}/page`, { headers: { origin } });
      expect([origin, status, Object.keys(headers).filter((name) => name.startsWith("access-control"))]).toEqual([
        origin,
        200,
        [],
      ]);
    }
  });

  it("opens no more connections than one address may have, and they are free again when it goes (W11)", async () => {
    for (const port of [site.ports.bridge, site.ports.realtime]) {
      let refused = 0;
      await Promise.all(
        Array.from({ length: 60 }, async () => {
          const socket = connect(port, "127.0.0.1");
          sockets.push(socket);
          // A connection over the limit is closed unread and without a response. One within the limit gets 408 at its
          // timeout.
          socket.write(`GET / HTTP/1.1\r\nHost: localhost:${port}\r\nX-`);
          socket.resume();
          socket.on("error", () => {});
          socket.once("close", () => {
            if (socket.bytesRead === 0) refused++;
          });
          await once(socket, "connect");
        }),
      );
      await expect.poll(() => refused).toBeGreaterThanOrEqual(20);
    }
  });

  it("cannot have its text become part of the console's page: content is data, scripts are the console's own (W12)", async () => {
    const script = '"><script>steal()</script>';
    const page = await send(
      `${consoleProcess.url}/functions/${encodeURIComponent(script)}?q=${encodeURIComponent(script)}`,
    );
    expect(page.status).toBe(200);
    expect(page.body).not.toContain("steal()");
    const policy = String(page.headers["content-security-policy"]);
    expect(policy).toContain("default-src 'self';");
    expect(policy).toContain("script-src 'self';");
    expect(policy).not.toContain("unsafe");
    // Names and values that contain markup are sent as JSON, which no browser renders.
    const list = await send(`${consoleProcess.url}/api/call`, {
      method: "POST",
      headers: { ...JSON_TYPE, "x-svc-console": pageToken },
      body: '{"function_id":"state::list","payload":{"scope":"s"}}',
    });
    expect([list.status, list.headers["content-type"]]).toEqual([200, "application/json; charset=utf-8"]);
    expect(list.body).toContain("steal()");
  });

  it("leaves a page of an allowed origin its live updates", async () => {
    const socket = new WebSocket(realtime(), { origin: ALLOWED });
    await once(socket, "open");
    socket.send(JSON.stringify({ type: "join", data: { subscriptionId: "s", streamName: "prices", groupId: "g" } }));
    const [message] = (await once(socket, "message")) as [Buffer];
    expect(JSON.parse(String(message))).toMatchObject({ streamName: "prices", event: { type: "sync", data: [] } });
    socket.terminate();
  });
});
