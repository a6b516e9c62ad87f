import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { type RunningSystem, startSystem } from "./support/running-system.ts";
import { live, openPage } from "./support/watched-page.ts";

let system: RunningSystem;
let browser: Browser;

beforeAll(async () => {
  system = await startSystem();
  browser = await startBrowser();
  const worker = await system.worker("pianist");
  worker.registerFunction("piano::play", ({ note }: { note: string }) => ({ played: note }));
  worker.registerFunction("piano::stop", () => 1);
  for (const path of ["/play", "/stop"]) {
    await worker.registerTrigger({ type: "http", function_id: "piano::play", config: { api_path: path, http_method: "POST" } }).registered;
  }
  for (const topic of ["audit", "billing"]) {
    await worker.registerTrigger({ type: "durable:subscriber", function_id: "piano::play", config: { topic } }).registered;
  }
  for (const key of ["a", "b"]) await worker.call({ function_id: "state::set", payload: { scope: "keys", key, value: 1 } });
  await worker.call({ function_id: "piano::play", payload: { note: "c" } });
  await worker.call({ function_id: "engine::log::info", payload: { message: "a note was played" } });
});

afterAll(async () => {
  await browser?.close();
  await system?.stop();
});

async function open(path: string) {
  const watched = await openPage(browser, `${system.console.url}${path}`);
  watched.page.setDefaultTimeout(10_000);
  await live(watched.page);
  return watched;
}

/** Presses Tab until the element has the focus: it can be reached. */
async function tabTo(page: Page, role: "grid" | "tab" | "button", name: string | RegExp): Promise<void> {
  const target = page.getByRole(role, { name }).first();
  await target.waitFor();
  for (let presses = 0; presses < 80; presses++) {
    if (await target.evaluate((element) => element.ownerDocument.activeElement === element)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`80 times Tab did not lead to ${role} ${String(name)}`);
}

it.each([
  ["/workers", "Workers"],
  ["/functions", "Functions"],
  ["/triggers", "Triggers"],
  ["/states/keys", "Items of keys"],
  ["/queues", "Queues"],
  ["/logs", "Log entries"],
])("%s: the list is reached by Tab, walked by arrows, and what is open closes by Escape", async (path, grid) => {
  const { page, faults, close } = await open(path);
  await page.getByRole("grid", { name: grid }).getByRole("row").nth(1).waitFor();
  await tabTo(page, "grid", grid);
  await page.keyboard.press("ArrowDown");
  await page.waitForURL((url) => url.pathname !== path);
  await page.getByRole("row", { selected: true }).first().waitFor();
  // The grid keeps the focus, so that the next key goes on from there.
  await expect.poll(() => page.evaluate("document.activeElement.getAttribute('role')")).toBe("grid");
  await page.keyboard.press("Escape");
  await page.waitForURL((url) => url.pathname === path);
  expect(faults).toEqual([]);
  await close();
});

it.each(["/workers", "/functions", "/triggers", "/states", "/streams", "/queues", "/traces", "/logs"])(
  "%s: / goes to the search, Escape empties and leaves it",
  async (path) => {
    const { page, faults, close } = await open(path);
    await page.getByRole("searchbox").first().waitFor();
    await page.keyboard.press("/");
    await expect.poll(() => page.evaluate("document.activeElement.type")).toBe("search");
    await page.keyboard.type("zzz");
    await page.waitForURL(/=zzz/);
    await page.keyboard.press("Escape");
    await page.waitForURL((url) => !url.search.includes("zzz"));
    await page.keyboard.press("Escape");
    await expect.poll(() => page.evaluate("document.activeElement.type ?? ''")).not.toBe("search");
    expect(faults).toEqual([]);
    await close();
  },
);

it("calls a function by keyboard alone, from the palette to the result", async () => {
  const { page, faults, close } = await open("/");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Command palette" }).waitFor();
  await page.keyboard.type("piano::play");
  await page
    .getByRole("option", { name: /piano::play/ })
    .first()
    .waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/functions\/piano(?:::|%3A%3A)play/);
  await page.getByRole("tab", { name: "Overview" }).waitFor();
  await page.keyboard.press("]");
  await page.waitForURL(/tab=/);
  await tabTo(page, "tab", "Invoke");
  await page.locator(".cm-content").waitFor();
  for (let presses = 0; presses < 30 && (await page.locator(".cm-content:focus").count()) === 0; presses++) await page.keyboard.press("Tab");
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText('{"note":"f sharp"}');
  await page.keyboard.press("Control+Enter");
  await page.getByRole("region", { name: "Result" }).getByText("f sharp").waitFor();
  expect(faults).toEqual([]);
  await close();
});

it("goes back to where it was when a dialog is closed by Escape", async () => {
  const { page, faults, close } = await open("/states/keys");
  await tabTo(page, "button", "Add item");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await page.evaluate("document.activeElement.textContent")).toBe("Add item");
  expect(new URL(page.url()).pathname).toBe("/states/keys");
  expect(faults).toEqual([]);
  await close();
});
