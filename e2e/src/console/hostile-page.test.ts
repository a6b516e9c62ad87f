import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { systemOfFile } from "./support/of-file.ts";
import { sharedBrowser } from "./support/pages.ts";

// A page of another site, in a real browser, tries to reach a developer's console.
const system = systemOfFile();
let site: Server;
let page: Page;
let calls = 0;

beforeAll(async () => {
  const worker = await system.worker("victim");
  worker.registerFunction("victim::touch", () => ++calls);
  site = createServer((_request, response) =>
    response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>another site</title>"),
  );
  await once(site.listen(0, "127.0.0.1"), "listening");
  page = await (await (await sharedBrowser()).newContext()).newPage();
  await page.goto(`http://localhost:${(site.address() as AddressInfo).port}/`);
});

afterAll(async () => {
  await page?.context().close();
  site?.close();
});

const attempt = (script: string): Promise<unknown> => page.evaluate(script.replaceAll("CONSOLE", system.console.url));

it("opens no socket (W1) (gap 59)", async () => {
  const url = system.console.url.replace("http", "ws");
  expect(
    await attempt(`new Promise((settle) => {
      const socket = new WebSocket("${url}/ws/console", ["svc.console.guess"]);
      socket.onopen = () => settle("open");
      socket.onerror = () => settle("refused");
    })`),
  ).toBe("refused");
});

it("reads no response, and makes no call (W3) (gap 59)", async () => {
  const body = JSON.stringify({ function_id: "victim::touch", payload: {} });
  const tried = (path: string, init: string): Promise<unknown> =>
    attempt(`fetch("CONSOLE${path}", ${init}).then((r) => r.type, () => "refused")`);
  expect(await tried("/", "{}")).toBe("refused");
  expect(
    await tried(
      "/api/call",
      `{ method: "POST", headers: { "content-type": "application/json" }, body: ${JSON.stringify(body)} }`,
    ),
  ).toBe("refused");
  // Sent without preflight, as a form would be; the response is opaque in any case.
  for (const path of ["/api/call", "/_console/invoke"]) {
    expect(
      await tried(
        path,
        `{ method: "POST", mode: "no-cors", headers: { "content-type": "text/plain" }, body: ${JSON.stringify(body)} }`,
      ),
    ).not.toBe("basic");
  }
  expect(calls).toBe(0);
});

it("shows no page of the console in a frame, and loads none of its scripts (gap 60)", async () => {
  const shown = await attempt(`new Promise((settle) => {
    const frame = document.createElement("iframe");
    frame.src = "CONSOLE/workers";
    frame.onload = () => { try { settle(frame.contentDocument === null ? "refused" : "own page"); } catch { settle("refused"); } };
    document.body.append(frame);
  })`);
  expect(shown).toBe("refused");
  const frames = await Promise.all(page.frames().map((frame) => frame.content().catch(() => "")));
  expect(frames.filter((html) => html.includes("svc-page-token"))).toEqual([]);
  const script = await attempt(`new Promise((settle) => {
    const element = document.createElement("script");
    element.src = "CONSOLE/theme.js";
    element.onload = () => settle("loaded");
    element.onerror = () => settle("refused");
    document.head.append(element);
  })`);
  expect(script).toBe("refused");
});

it("leads to the console by a link, as any page may", async () => {
  await attempt(`void document.body.insertAdjacentHTML("beforeend", '<a href="CONSOLE/workers">console</a>')`);
  await page.getByRole("link", { name: "console" }).click();
  await page.getByRole("heading", { name: "Workers", level: 1 }).waitFor();
});
