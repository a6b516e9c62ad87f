import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { checkAccessibility } from "./support/axe.ts";
import { startConsole } from "./support/console-process.ts";
import { holdCalls } from "./support/held-calls.ts";
import { consoleOfFile, standInOfFile, systemOfFile } from "./support/of-file.ts";
import { visit } from "./support/visit.ts";
import { live, openLive, openPage, type WatchedPage } from "./support/watched-page.ts";

const SECTIONS = [
  "overview",
  "connectivity",
  "ports",
  "telemetry",
  "versions",
  "flags",
  "settings",
  "modules",
  "health",
  "storage",
  "alerts",
  "preferences",
];
/** Console messages of the browser about failed requests and closed sockets, which the tests cause. */
const BROKEN = [/Failed to load resource/, /WebSocket connection/];
const system = systemOfFile();
const engine = standInOfFile(system);
/** A console that connects to the stand-in engine. */
const console = consoleOfFile(() => ({ engine: engine.ports }));

const open = (query: string): Promise<WatchedPage> => openPage(`${console.url}/config${query}`, { expected: BROKEN });

it("shows connectivity, effective ports with their source, telemetry and versions, and the browser connects only to the console", async () => {
  const { page } = await openLive(`${system.console.url}/config`);
  await page.locator('[data-probe="engine_http"]').getByText("Reachable", { exact: true }).waitFor();
  const bridge = page.getByRole("row").filter({ hasText: "Engine SDK bridge" });
  await bridge
    .filter({ hasText: String(system.ports.bridge) })
    .filter({ hasText: "49134" })
    .filter({ hasText: "flag" })
    .waitFor();
  await page.getByText("stored in the engine for this console").waitFor();
  await page.getByText("sent to the engine as service svc-console").waitFor();
  await page.getByRole("heading", { name: "Versions" }).waitFor();
  await page.getByRole("button", { name: "Test now" }).click();
});

it("creates, silences and deletes an alert", async () => {
  const { page } = await openLive(`${system.console.url}/config?section=alerts`);
  await page.getByText("No alerts").waitFor();
  await page.getByRole("button", { name: "New alert" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.getByText("Name is required").waitFor();
  await dialog.getByLabel("Name", { exact: true }).fill("busy");
  await dialog.getByLabel("Metric").fill("svc.engine.uptime_seconds");
  await dialog.getByLabel("Threshold").fill("1000000");
  await dialog.getByRole("button", { name: "Create" }).click();
  const row = page.getByRole("row").filter({ hasText: "busy" });
  await row.filter({ hasText: "Normal" }).waitFor();
  const release = await holdCalls(page, "engine::alerts::silence");
  await row.getByLabel("Silence busy").selectOption("900");
  await row.getByRole("button", { name: "Delete" }).click();
  const remove = page.getByRole("dialog").getByRole("button", { name: "Delete the alert" });
  await remove.waitFor();
  release();
  await page.getByText("Silenced until").waitFor();
  // The dialog stays open when the other change completes.
  await remove.click();
  await page.getByText("No alerts").waitFor();
});

it.each(["traces", "log entries"])("deletes all %s only after the user typed the words", async (what) => {
  const worker = await system.worker(`busy with ${what}`);
  worker.registerFunction("busy::work", () => 1);
  await worker.call({ function_id: "busy::work" });
  await worker.call({ function_id: "engine::log::info", payload: { message: "busy" } });
  const { page, close } = await openLive(`${system.console.url}/config?section=storage`);
  await page.getByRole("button", { name: `Delete all ${what}` }).click();
  const confirm = page.getByRole("dialog").getByRole("button", { name: `Delete all ${what}` });
  expect(await confirm.isDisabled()).toBe(true);
  await page.getByRole("dialog").getByRole("textbox").fill(what);
  await confirm.click();
  await page.getByText(`All ${what} were deleted`).waitFor();
  await visit(page, what === "traces" ? "/traces?q=busy" : "/logs?q=busy");
  await page.getByText("Nothing matches").waitFor();
  await close();
  await worker.shutdown();
});

it("switches sections by keyboard, and says so if a filter matches no setting", async () => {
  const { page } = await openLive(`${system.console.url}/config?section=flags`);
  await page.getByRole("row").filter({ hasText: "--engine-port" }).filter({ hasText: "flag" }).waitFor();
  await page.keyboard.press("]");
  await page.waitForURL(/section=settings/);
  await page.keyboard.press("/");
  await page.keyboard.type("nothing-is-called-that");
  await page.getByText("Nothing matches").waitFor();
  await page.waitForURL(/q=nothing/);
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await page.getByRole("row").filter({ hasText: "default_timeout_ms" }).first().waitFor();
  await visit(page, "/config?section=nowhere");
  await page.getByText("Section not found").waitFor();
});

it.each([
  { flag: "--engine-port", wrong: { http: 1 }, probe: "engine_http" },
  { flag: "--ws-port", wrong: { realtime: 1 }, probe: "engine_realtime" },
  { flag: "--bridge-port", wrong: { bridge: 1 }, probe: "engine_bridge" },
])("names $flag if that port is wrong, and reaches the others", async ({ flag, wrong, probe }) => {
  const astray = await startConsole({ engine: { ...system.ports, ...wrong } });
  const { page, close } = await openPage(`${astray.url}/config?section=connectivity`, { expected: BROKEN });
  const card = page.locator(`[data-probe="${probe}"]`);
  await card.getByText("Unreachable", { exact: true }).waitFor({ timeout: 20_000 });
  await card.getByText("nothing listens there").waitFor();
  await card.getByText(flag).waitFor();
  for (const other of ["engine_http", "engine_realtime", "engine_bridge", "console"].filter((each) => each !== probe)) {
    await page.locator(`[data-probe="${other}"]`).getByText("Reachable", { exact: true }).waitFor({ timeout: 20_000 });
  }
  await close();
  await astray.stop();
});

it("warns of a worker with an SDK of another release", async () => {
  engine.answer("engine::info", async (_payload, real) => ({ ...((await real()) as object), version: "0.9.3" }));
  const worker = await system.worker("left-behind");
  const { page } = await open("?section=versions");
  await page.getByText(/The SDK \(node\) of .*left-behind.* is \S+, the engine 0\.9\.3/).waitFor();
  await page.getByText(/The console is \S+, the engine 0\.9\.3/).waitFor();
  await worker.shutdown();
});

it("keeps filters in the URL", async () => {
  const { page } = await open("?section=settings&q=timeout&changed=true");
  await page.getByRole("checkbox", { name: "Only changed settings" }).waitFor();
  expect(await page.getByRole("checkbox", { name: "Only changed settings" }).isChecked()).toBe(true);
  expect(await page.getByLabel("Search settings").inputValue()).toBe("timeout");
  await page.getByRole("checkbox", { name: "Only changed settings" }).uncheck();
  await page.getByRole("row").filter({ hasText: "default_timeout_ms" }).first().waitFor();
  await page.waitForURL((url) => !url.search.includes("changed"));
  await visit(page, "/config?section=ports&changed=perhaps");
  await page.getByRole("status").getByText("changed").waitFor();
  await page.getByRole("heading", { name: "Ports" }).waitFor();
});

it("resets preferences to their defaults", async () => {
  const { page } = await open("?section=preferences");
  await page.getByRole("combobox", { name: "Theme" }).selectOption("dark");
  await page.getByRole("combobox", { name: "Density" }).selectOption("compact");
  await page.getByRole("checkbox", { name: "of single keys" }).uncheck();
  await page.getByRole("button", { name: "Reset to defaults" }).click();
  await expect.poll(() => page.getByRole("combobox", { name: "Theme" }).inputValue()).toBe("system");
  expect(await page.getByRole("combobox", { name: "Density" }).inputValue()).toBe("comfortable");
  expect(await page.getByRole("checkbox", { name: "of single keys" }).isChecked()).toBe(true);
  await page.reload();
  await expect.poll(() => page.getByRole("combobox", { name: "Theme" }).inputValue()).toBe("system");
});

it("restores the focus after a dialog, and confirms each deletion again", async () => {
  const worker = await system.worker("traced");
  worker.registerFunction("traced::once", () => 1);
  await worker.call({ function_id: "traced::once", payload: {} });
  const { page } = await open("?section=storage");
  await live(page);
  const button = page.getByRole("button", { name: "Delete all traces" });
  await expect.poll(() => button.isEnabled()).toBe(true);
  await button.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByRole("textbox").fill("traces");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await expect.poll(() => button.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
  await button.click();
  expect(await page.getByRole("dialog").getByRole("button", { name: "Delete all traces" }).isDisabled()).toBe(true);
  await worker.shutdown();
});

it("disables changes in a read-only console", async () => {
  const readOnly = await startConsole({ engine: system.ports, args: ["--read-only"] });
  const { page, close } = await openLive(`${readOnly.url}/config?section=storage`);
  const reason = "This console is read-only: it was started with --read-only";
  for (const name of ["Delete all log entries", "Delete all traces"]) {
    const button = page.getByRole("button", { name });
    await button.waitFor();
    expect([await button.isDisabled(), await button.getAttribute("title")]).toEqual([true, reason]);
  }
  await visit(page, "/config?section=alerts");
  const create = page.getByRole("button", { name: "New alert" });
  await create.waitFor();
  expect([await create.isDisabled(), await create.getAttribute("title")]).toEqual([true, reason]);
  await close();
  await readOnly.stop();
});

describe.each([
  { section: "settings", call: "engine::config::effective", shows: "default_timeout_ms" },
  { section: "modules", call: "engine::info", shows: "running" },
  { section: "telemetry", call: "engine::telemetry::status", shows: "stored in the engine for this console" },
  { section: "health", call: "engine::health::check", shows: "healthy" },
  { section: "alerts", call: "engine::alerts::list", shows: "No alerts" },
])("the section $section", ({ section, call, shows }) => {
  const shown = (page: Page) => page.locator("#content").getByText(shows).first();

  it("shows loading, an error and its content, and keeps the content while the engine is unreachable", async () => {
    const arrive = engine.delay(call);
    const { page } = await open(`?section=${section}`);
    await live(page);
    await page.locator("#content").getByRole("status", { name: "Loading" }).first().waitFor();
    expect(await shown(page).count()).toBe(0);
    engine.fail(call, "storage_failed", "the disk has gone for a walk");
    await page.reload();
    const alert = page
      .locator("#content")
      .getByRole("alert")
      .filter({ hasText: "the disk has gone for a walk" })
      .first();
    await alert.waitFor();
    arrive();
    engine.asIs();
    const retry = page.locator("#content").getByRole("button", { name: "Try again" }).first();
    await retry.or(shown(page)).first().waitFor();
    if (await retry.isVisible()) await retry.click();
    await shown(page).waitFor();
    await engine.goAway();
    await page.getByRole("alert").filter({ hasText: "The engine cannot be reached" }).waitFor();
    await shown(page).waitFor();
    await engine.comeBack();
    await live(page);
    await shown(page).waitFor();
  });
});

it("says so if there are no trigger types", async () => {
  engine.answer("engine::trigger-types::list", () => ({ trigger_types: [] }));
  const { page } = await open("?section=modules");
  await page.getByText("No module or worker provides a trigger type.").waitFor();
});

it.each([SECTIONS.slice(0, 6), SECTIONS.slice(6)])(
  "is accessible and fits the window in both themes, wide and narrow: %s, %s, %s, %s, %s, %s",
  async (...sections) => {
    const { page } = await openLive(`${system.console.url}/config`);
    for (const section of sections) {
      await visit(page, `/config?section=${section}`);
      await page.getByRole("heading", { level: 2 }).first().waitFor();
      await checkAccessibility(page, section);
    }
  },
);
