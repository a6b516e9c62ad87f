import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { type ConsoleProcess, startConsole } from "./support/console-process.ts";
import { type RunningSystem, startSystem } from "./support/running-system.ts";
import { live, openPage } from "./support/watched-page.ts";

let system: RunningSystem;
let browser: Browser;
let console: ConsoleProcess;

beforeAll(async () => {
  system = await startSystem();
  console = await startConsole({ engine: system.ports });
  browser = await startBrowser();
});

afterAll(async () => {
  await browser?.close();
  await console?.stop();
  await system?.stop();
});

it("is live again by itself after the console was started again, with what was typed still there", async () => {
  // What the browser reports of the time without a console.
  const expected = [/Failed to load resource|WebSocket connection/];
  const { page } = await openPage(browser, `${console.url}/workers`, { expected });
  await live(page);
  const search = page.getByRole("searchbox");
  await search.fill("order");
  const port = Number(new URL(console.url).port);
  await console.stop("SIGKILL");
  await page.getByText("Live", { exact: true }).waitFor({ state: "hidden" });
  console = await startConsole({ engine: system.ports, port });
  await live(page);
  await system.worker("orders");
  await page.getByRole("row").filter({ hasText: "orders" }).waitFor({ timeout: 5_000 });
  expect(await search.inputValue()).toBe("order");
});
