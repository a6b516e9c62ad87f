import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { axeViolations } from "./support/axe.ts";
import { type RunningSystem, startSystem } from "./support/running-system.ts";
import { live, openPage, widthOverflow } from "./support/watched-page.ts";

const SECTIONS = ["overview", "connectivity", "ports", "telemetry", "versions", "flags", "settings", "modules", "health", "storage", "alerts", "preferences"];
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

it("shows what is reached, the ports in effect with their source, telemetry and versions, and the browser asks nobody but the console", async () => {
  const { page, faults, close } = await openPage(browser, `${system.console.url}/config`);
  await live(page);
  await page.locator('[data-probe="engine_http"]').getByText("Reached", { exact: true }).waitFor();
  const bridge = page.getByRole("row").filter({ hasText: "Engine SDK bridge" });
  await bridge
    .filter({ hasText: String(system.ports.bridge) })
    .filter({ hasText: "49134" })
    .filter({ hasText: "flag" })
    .waitFor();
  await page.getByText("kept in the engine for this console").waitFor();
  await page.getByRole("heading", { name: "Versions" }).waitFor();
  await page.getByRole("button", { name: "Test now" }).click();
  expect(faults).toEqual([]);
  await close();
});

it("makes an alert, silences it and deletes it", async () => {
  const { page, faults, close } = await openPage(browser, `${system.console.url}/config?section=alerts`);
  await live(page);
  await page.getByText("There is no alert").waitFor();
  await page.getByRole("button", { name: "New alert" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.getByText("It needs a name").waitFor();
  await dialog.getByLabel("Name", { exact: true }).fill("busy");
  await dialog.getByLabel("Metric").fill("svc.engine.uptime_seconds");
  await dialog.getByLabel("Threshold").fill("1000000");
  await dialog.getByRole("button", { name: "Create" }).click();
  const row = page.getByRole("row").filter({ hasText: "busy" });
  await row.filter({ hasText: "Quiet" }).waitFor();
  await row.getByLabel("Silence busy").selectOption("900");
  await row.getByText("Silenced until").waitFor();
  await row.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete the alert" }).click();
  await page.getByText("There is no alert").waitFor();
  expect(faults).toEqual([]);
  await close();
});

it.each(["traces", "log entries"])("deletes all %s only when that was typed", async (what) => {
  const worker = await system.worker(`busy with ${what}`);
  worker.registerFunction("busy::work", () => 1);
  await worker.call({ function_id: "busy::work" });
  await worker.call({ function_id: "engine::log::info", payload: { message: "busy" } });
  const { page, faults, close } = await openPage(browser, `${system.console.url}/config?section=storage`);
  await live(page);
  await page.getByRole("button", { name: `Delete all ${what}` }).click();
  const confirm = page.getByRole("dialog").getByRole("button", { name: `Delete all ${what}` });
  expect(await confirm.isDisabled()).toBe(true);
  await page.getByRole("dialog").getByRole("textbox").fill(what);
  await confirm.click();
  await page.getByText(`All ${what} were deleted`).waitFor();
  await page.goto(`${system.console.url}/${what === "traces" ? "traces?q=busy" : "logs?q=busy"}`);
  await page.getByText("Nothing matches").waitFor();
  expect(faults).toEqual([]);
  await close();
  await worker.shutdown();
});

it("goes through its sections by keyboard, and says which filter hides every setting", async () => {
  const { page, faults, close } = await openPage(browser, `${system.console.url}/config?section=flags`);
  await live(page);
  await page.getByRole("row").filter({ hasText: "--engine-port" }).filter({ hasText: "flag" }).waitFor();
  await page.keyboard.press("]");
  await page.waitForURL(/section=settings/);
  await page.keyboard.press("/");
  await page.keyboard.type("nothing-is-called-that");
  await page.getByText("Nothing matches").waitFor();
  await page.waitForURL(/q=nothing/);
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await page.getByRole("row").filter({ hasText: "default_timeout_ms" }).first().waitFor();
  await page.goto(`${system.console.url}/config?section=nowhere`);
  await page.getByText("There is no such section").waitFor();
  expect(faults).toEqual([]);
  await close();
});

it("tells which port cannot be reached, and that the others can", async () => {
  const away = await startSystem({ consoleArgs: ["--ws-port", "1"] });
  const { page, close } = await openPage(browser, `${away.console.url}/config?section=connectivity`, { expected: [/.*/] });
  await page.locator('[data-probe="engine_realtime"]').getByText("Unreachable", { exact: true }).waitFor({ timeout: 20_000 });
  await page.locator('[data-probe="engine_realtime"]').getByText("--ws-port").waitFor();
  await page.locator('[data-probe="engine_http"]').getByText("Reached", { exact: true }).waitFor();
  await close();
  await away.stop();
});

it.each(["light", "dark"] as const)("is accessible and fits a narrow screen in the %s theme, each section", async (theme) => {
  const { page, faults, close } = await openPage(browser, `${system.console.url}/config`, { theme, width: 390 });
  for (const section of SECTIONS) {
    await page.goto(`${system.console.url}/config?section=${section}`);
    await live(page);
    await page.getByRole("heading", { level: 2 }).first().waitFor();
    await page.getByRole("status", { name: "Loading" }).waitFor({ state: "detached" });
    expect(await axeViolations(page), section).toEqual([]);
    expect(await widthOverflow(page), section).toBe(0);
  }
  expect(faults).toEqual([]);
  await close();
});
