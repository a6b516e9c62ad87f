import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { axeViolations } from "./support/axe.ts";
import { type RunningSystem, startSystem } from "./support/running-system.ts";
import { live, openPage, widthOverflow } from "./support/watched-page.ts";

let system: RunningSystem;
let browser: Browser;

beforeAll(async () => {
  system = await startSystem({ consoleArgs: ["--enable-flow"] });
  browser = await startBrowser();
  const worker = await system.worker("shop");
  worker.registerFunction("shop::save", async () => {
    await worker.call({ function_id: "state::set", payload: { scope: "carts", key: "k", value: 1 } });
    return 1;
  });
  worker.registerFunction("shop::tick", () => 1);
  worker.registerTrigger({ type: "http", function_id: "shop::save", config: { api_path: "/carts", http_method: "DELETE" } });
  worker.registerTrigger({ type: "cron", function_id: "shop::tick", config: { expression: "0 0 1 1 *" } });
  await worker.call({ function_id: "shop::save", payload: {} });
});

afterAll(async () => {
  await browser?.close();
  await system?.stop();
});

it("draws triggers by their kind and method, and what a trace showed, with a way to each page", async () => {
  const { page, faults, close } = await openPage(browser, `${system.console.url}/flow`);
  await page.locator('[data-kind="http"][data-method="DELETE"]').getByText("DELETE /carts").waitFor();
  await page.locator('[data-kind="cron"]').waitFor();
  await page.locator('[data-kind="state"]').getByText("carts").waitFor();
  await page.locator('[data-kind="function"]').getByText("shop::save").click();
  await page.getByRole("link", { name: "shop::save" }).waitFor();
  await page.getByText("State, seen 1×").waitFor();
  expect(new URL(page.url()).searchParams.get("focus")).toBe("function shop::save");
  expect(faults).toEqual([]);
  await close();
});

it("keeps a layout for the next visit and for another browser, until it is reset", async () => {
  const first = await openPage(browser, `${system.console.url}/flow`);
  const node = first.page.getByTestId("rf__node-function shop::tick");
  await node.waitFor();
  await node.focus();
  await first.page.keyboard.press("Enter");
  for (let step = 0; step < 6; step++) await first.page.keyboard.press("ArrowDown");
  await first.page.getByText("Layout saved").waitFor();
  const moved = await first.page.evaluate(`document.querySelector('[data-id="function shop::tick"]').style.transform`);
  await first.close();
  const second = await openPage(browser, `${system.console.url}/flow`);
  await second.page.getByText("Layout saved").waitFor();
  await second.page.getByTestId("rf__node-function shop::tick").waitFor();
  expect(await second.page.evaluate(`document.querySelector('[data-id="function shop::tick"]').style.transform`)).toBe(moved);
  await second.page.getByRole("button", { name: "Reset layout" }).click();
  await second.page.getByText("Automatic layout").waitFor();
  expect([...first.faults, ...second.faults]).toEqual([]);
  await second.close();
});

it("explains the flag where it is off, and has no entry in the sidebar", async () => {
  const bare = await startSystem({ config: "workers:\n  - name: svc-http\n" });
  const { page, close } = await openPage(browser, `${bare.console.url}/flow`, { expected: [/.*/] });
  await page.getByText("The Flow page is not switched on").waitFor();
  await page.getByText("SVC_ENABLE_FLOW=1").waitFor();
  expect(await page.getByRole("navigation").getByRole("link", { name: "Flow" }).count()).toBe(0);
  await close();
  await bare.stop();
});

it.each(["light", "dark"] as const)("is accessible and fits a narrow screen in the %s theme, as graph and as list", async (theme) => {
  const { page, faults, close } = await openPage(browser, `${system.console.url}/flow`, { theme, width: 390 });
  await live(page);
  await page.locator('[data-kind="http"]').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  expect(await widthOverflow(page)).toBe(0);
  await page.goto(`${system.console.url}/flow?view=list&q=shop`);
  await page.getByRole("row").filter({ hasText: "shop::save" }).waitFor();
  expect(await page.getByRole("row").filter({ hasText: "carts" }).count()).toBe(0);
  expect(await axeViolations(page)).toEqual([]);
  expect(await widthOverflow(page)).toBe(0);
  expect(faults).toEqual([]);
  await close();
});
