import { setTimeout } from "node:timers/promises";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { startCountedProxy } from "../support/counted-proxy.ts";
import { checkAccessibility } from "./support/axe.ts";
import { startConsole } from "./support/console-process.ts";
import { systemOfFile } from "./support/of-file.ts";
import { startSystem } from "./support/running-system.ts";
import { visit } from "./support/visit.ts";
import { openLive, openPage } from "./support/watched-page.ts";

const system = systemOfFile();

/** Locates a counter that shows `value`. */
function counter(page: Page, name: string, value: string | RegExp) {
  return page
    .getByRole("region", { name: "Counters" })
    .getByRole("link", { name: new RegExp(`^${name} ${value instanceof RegExp ? value.source : value}`) });
}

/** Returns by how many pixels an element is wider than the visible part of its parent. */
function cutOff(element: {
  readonly parentElement: { readonly scrollWidth: number; readonly clientWidth: number } | null;
}): number {
  const { parentElement: parent } = element;
  return parent === null ? 0 : parent.scrollWidth - parent.clientWidth;
}

it("counts workers as they connect and disconnect, and shows how to connect the first one", async () => {
  const { page } = await openLive(`${system.console.url}/`);
  await counter(page, "Workers", "0\\b").waitFor();
  await page.getByText("connect one in three steps").waitFor();
  await page.getByRole("button", { name: "Python" }).click();
  await page.getByText("pip install --find-links sdk svc-runtime==").waitFor();
  // A line needs more than one sample.
  await page.getByText("collecting").first().waitFor();
  const worker = await system.worker("counted");
  await counter(page, "Workers", "1\\b").waitFor();
  await worker.shutdown();
  await counter(page, "Workers", "0\\b").waitFor();
});

it("links each counter to a list of the same length", async () => {
  const worker = await system.worker("lists");
  worker.registerFunction("lists::first", () => 1);
  worker.registerFunction("lists::second", () => 2);
  await worker.registerTrigger({ type: "http", function_id: "lists::first", config: { api_path: "/lists" } })
    .registered;
  await worker.registerTrigger({ type: "cron", function_id: "lists::second", config: { expression: "0 0 5 1 1 *" } })
    .registered;
  await worker.call({
    function_id: "stream::set",
    payload: { stream_name: "lists", group_id: "g", item_id: "i", data: {} },
  });
  const { page } = await openPage(system.console.url);
  for (const [name, count, path, inList] of [
    [
      "Workers",
      1,
      "/workers",
      page
        .getByRole("grid", { name: "Workers" })
        .locator("[aria-selected]")
        .filter({ hasText: /\bConnected/ }),
    ],
    ["Functions", 2, "/functions", page.getByRole("grid", { name: "Functions" }).locator("[aria-selected]")],
    // The list includes cron triggers, which the page loads from the engine.
    ["Triggers", 2, "/triggers", page.getByRole("grid", { name: "Triggers" }).locator("[aria-selected]")],
    ["Streams", 1, "/streams", page.getByRole("row").filter({ hasText: "user" })],
  ] as const) {
    await visit(page, "/");
    await counter(page, name, `${count}\\b`).click();
    await page.waitForURL(`**${path}`);
    await expect.poll(() => inList.count(), { message: name }).toBe(count);
  }
  // System functions are counted separately, and listed on request.
  await visit(page, "/");
  const label = (await counter(page, "Functions", "2\\b").textContent()) ?? "";
  const systemFunctions = Number(/\+ (\d+) system/.exec(label)?.[1]);
  expect(systemFunctions).toBeGreaterThan(50);
  await visit(page, "/functions?system=true");
  await page.getByTitle(`${systemFunctions + 2} in total`).waitFor();
  await worker.shutdown();
});

it("opens a counter's list by keyboard alone", async () => {
  const { page } = await openPage(system.console.url);
  const link = counter(page, "Triggers", /\d/);
  await link.waitFor();
  for (
    let presses = 0;
    presses < 60 && !(await link.evaluate((element) => element.ownerDocument.activeElement === element));
    presses++
  ) {
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("Enter");
  await page.waitForURL("**/triggers");
});

it("draws the call graph, lists failing functions and disconnected workers, and mutes an issue", async () => {
  const worker = await system.worker("shop");
  worker.registerFunction("shop::buy", async (_input, context) => {
    await context.span("look into the purse", () => undefined);
    await worker.call({ function_id: "state::set", payload: { scope: "shop", key: "k", value: 1 } });
    throw new Error("sold out");
  });
  worker.registerFunction("shop::count_stock", async () => {
    await setTimeout(300);
    return 1;
  });
  worker.registerFunction("shop::wait_for_stock", () => worker.call({ function_id: "shop::count_stock" }));
  await worker.call({ function_id: "shop::wait_for_stock" });
  worker.registerTrigger({ type: "http", function_id: "shop::buy", config: { api_path: "/buy", http_method: "POST" } });
  for (let times = 0; times < 2; times++)
    await expect(worker.call({ function_id: "shop::buy", payload: {} })).rejects.toThrow("sold out");
  const { page } = await openPage(`${system.console.url}/`);
  const flow = page.getByRole("region", { name: "Application flow" });
  await flow.getByRole("link", { name: /POST \/buy/ }).waitFor();
  await flow.getByRole("link", { name: /shop::buy/ }).waitFor();
  await flow.getByRole("link", { name: "state" }).waitFor({ timeout: 30_000 });
  await flow.getByRole("button", { name: "Table" }).click();
  await flow.getByRole("row").filter({ hasText: "shop::buy" }).filter({ hasText: "state" }).waitFor();
  // A span that a handler creates is not a call of its own function.
  await expect.poll(() => flow.getByRole("link", { name: "shop::buy" }).count()).toBe(2);
  expect(new URL(page.url()).searchParams.get("view")).toBe("table");
  await page.reload();
  await flow.getByRole("row").filter({ hasText: "shop::buy" }).filter({ hasText: "state" }).waitFor();
  // Failures with one cause are one row, with their code and number.
  const errors = page.getByRole("region", { name: "Latest errors" }).getByRole("listitem");
  const buy = errors.filter({ has: page.getByRole("link", { name: "shop::buy" }) });
  await buy.getByText("invocation_failed sold out").waitFor();
  await buy.getByText("2×").waitFor();
  expect(await buy.count()).toBe(1);
  // A slow trace names the function that takes the time, not the one that waits for it. It is not the slowest if the
  // disk stalls during the write of the other.
  const slow = page
    .getByRole("region", { name: "Slowest traces" })
    .getByRole("listitem")
    .filter({ has: page.getByRole("link", { name: "shop::wait_for_stock" }) });
  await slow.waitFor({ timeout: 20_000 });
  await slow
    .getByText(/most time in/)
    .getByRole("link", { name: "shop::count_stock" })
    .waitFor();
  const attention = page.getByRole("region", { name: "Needs attention" });
  await attention.getByText("shop::buy is failing").waitFor();
  await worker.shutdown();
  await attention.getByText("Worker shop disconnected").waitFor();
  await attention.getByRole("button", { name: "Mute for 1 h: Worker shop disconnected" }).click();
  await attention.getByRole("button", { name: "Show 1 muted" }).waitFor();
  expect(await attention.getByText("Worker shop disconnected").count()).toBe(0);
});

it("transfers at most 500 KB in at most 25 requests until all of it is loaded", async () => {
  const worker = await system.worker("loads");
  worker.registerFunction("loads::once", () => 1);
  await worker.call({ function_id: "loads::once" });
  // A name of this machine which is allowed with the port of the proxy, too.
  const served = await startConsole({ engine: system.ports, args: ["--allowed-host", "page.localhost"] });
  const proxy = await startCountedProxy(Number(new URL(served.url).port));
  const { page, close } = await openPage("about:blank");
  const requests: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  page.on("websocket", (socket) => requests.push(socket.url()));
  await page.goto(`http://page.localhost:${proxy.port}/`);
  await page.getByRole("region", { name: "Application flow" }).getByText("loads::once").first().waitFor();
  await page.getByRole("region", { name: "Slowest traces" }).getByRole("listitem").first().waitFor();
  // The bell, the palette and dialogs are loaded a second after the page.
  await page.getByRole("button", { name: "Notifications" }).waitFor();
  await page.waitForLoadState("networkidle");
  const loaded = [...requests];
  const bytes = proxy.bytes();
  await close();
  await proxy.close();
  await served.stop();
  await worker.shutdown();
  expect(loaded.length, loaded.join("\n")).toBeLessThanOrEqual(25);
  expect(bytes / 1024).toBeLessThanOrEqual(500);
});

it("keeps its time range in the URL", async () => {
  const { page } = await openPage(`${system.console.url}/?range=1h`);
  await page.getByRole("button", { name: "Time range: Last hour" }).click();
  await page.getByRole("button", { name: "Last 5 minutes" }).click();
  await page.waitForURL(/range=5m/);
  await page.reload();
  await page.getByRole("button", { name: "Time range: Last 5 minutes" }).waitFor();
  await page.goBack();
  await page.getByRole("button", { name: "Time range: Last hour" }).waitFor();
  await page.goForward();
  await page.getByRole("button", { name: "Time range: Last 5 minutes" }).waitFor();
});

it("keeps its figures and marks them as stale while the engine is unreachable", async () => {
  const own = await startSystem({ killable: true });
  (await own.worker("steady")).registerFunction("steady::go", () => 1);
  const { page, close } = await openPage(`${own.console.url}/`, { expected: [/.*/] });
  await counter(page, "Functions", /[1-9]/).waitFor();
  await page.getByText(/Last update .* · live/).waitFor();
  await own.killEngine();
  await page.getByText("Stale, as of").waitFor({ timeout: 20_000 });
  expect(await counter(page, "Functions", /[1-9]/).count()).toBe(1);
  await close();
  await own.stop();
});

it("is accessible and fits the window in both themes, wide and narrow", async () => {
  const worker = await system.worker("axe");
  worker.registerFunction("axe::look", () => 1);
  worker.registerFunction("axe::a_function_with_a_name_that_is_rather_long", () =>
    worker.call({ function_id: "axe::look" }),
  );
  await worker.call({ function_id: "axe::a_function_with_a_name_that_is_rather_long", payload: {} });
  const { page } = await openPage(`${system.console.url}/`);
  const line = page.getByRole("img", { name: "Functions, last minutes" });
  await line.waitFor({ timeout: 20_000 });
  await page.reload();
  await counter(page, "Functions", /[1-9]/).waitFor();
  // The engine stores the history of the counters, so they have their lines again at once.
  expect(await counter(page, "Functions", /[1-9]/).getByText("collecting").count()).toBe(0);
  await line.waitFor();
  await checkAccessibility(page, "the Dashboard", async () => {
    await page.getByRole("region", { name: "Application flow" }).getByText("axe::look").first().waitFor();
    await page.getByRole("region", { name: "Slowest traces" }).getByRole("listitem").first().waitFor();
  });
  await page.setViewportSize({ width: 390, height: 844 });
  // The table that replaces the diagram is not cut off.
  const table = page.getByRole("table", { name: "Call graph" });
  await table.waitFor();
  expect(await table.evaluate(cutOff)).toBe(0);
  await worker.shutdown();
});
