import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { axeViolations } from "./support/axe.ts";
import { type RunningSystem, startSystem } from "./support/running-system.ts";
import { live, openPage, widthOverflow } from "./support/watched-page.ts";

let system: RunningSystem;
let browser: Browser;

beforeAll(async () => {
  system = await startSystem();
  browser = await startBrowser();
});

afterAll(async () => {
  await browser?.close();
  await system?.stop();
});

it("shows a worker that connects within a second, without a reload", async () => {
  const { page, faults, close } = await openPage(browser, `${system.console.url}/workers`);
  await live(page);
  await page.getByText("No worker is connected").waitFor();
  await system.worker("orders");
  await page.getByRole("row").filter({ hasText: "orders" }).waitFor({ timeout: 2_000 });
  expect(faults).toEqual([]);
  await close();
});

it.each(["light", "dark"] as const)("is accessible and fits a narrow screen in the %s theme", async (theme) => {
  const { page, faults, close } = await openPage(browser, `${system.console.url}/workers?system=true`, { theme, width: 390 });
  await live(page);
  await page.getByRole("row").filter({ hasText: "svc-state" }).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  expect(await widthOverflow(page)).toBe(0);
  expect(faults).toEqual([]);
  await close();
});
