import { beforeAll, describe, expect, it } from "vitest";
import { hasFocus, tabTo } from "./support/keyboard.ts";
import { systemOfFile } from "./support/of-file.ts";
import { checkEach, visit } from "./support/visit.ts";
import { live, openLive, type WatchedPage } from "./support/watched-page.ts";

const system = systemOfFile();

beforeAll(async () => {
  const worker = await system.worker("pianist");
  worker.registerFunction("piano::play", ({ note }: { note: string }) => ({ played: note }));
  worker.registerFunction("piano::stop", () => 1);
  for (const path of ["/play", "/stop"]) {
    await worker.registerTrigger({
      type: "http",
      function_id: "piano::play",
      config: { api_path: path, http_method: "POST" },
    }).registered;
  }
  for (const topic of ["audit", "billing"]) {
    await worker.registerTrigger({ type: "durable:subscriber", function_id: "piano::play", config: { topic } })
      .registered;
  }
  for (const key of ["a", "b"])
    await worker.call({ function_id: "state::set", payload: { scope: "keys", key, value: 1 } });
  await worker.call({ function_id: "piano::play", payload: { note: "c" } });
  await worker.call({ function_id: "engine::log::info", payload: { message: "a note was played" } });
});

const open = (path: string): Promise<WatchedPage> => openLive(`${system.console.url}${path}`);

it("every list is reached by Tab and navigated by arrows, and Escape closes the detail", async () => {
  const { page } = await open("/");
  await checkEach(
    [
      ["/workers", "Workers"],
      ["/functions", "Functions"],
      ["/triggers", "Triggers"],
      ["/states/keys", "Items of keys"],
      ["/queues", "Queues"],
      ["/logs", "Log entries"],
    ] as const,
    ([path]) => path,
    async ([path, grid]) => {
      await visit(page, path);
      await page.getByRole("grid", { name: grid }).getByRole("row").nth(1).waitFor();
      await tabTo(page, page.getByRole("grid", { name: grid }).first());
      await page.keyboard.press("ArrowDown");
      await page.waitForURL((url) => url.pathname !== path);
      await page.getByRole("row", { selected: true }).first().waitFor();
      // The grid keeps the focus, so the next key continues from there.
      await expect.poll(() => page.evaluate("document.activeElement.getAttribute('role')")).toBe("grid");
      await page.keyboard.press("Escape");
      await page.waitForURL((url) => url.pathname === path);
    },
  );
});

it("the key / focuses the search of every page, Escape clears and leaves it", async () => {
  const { page } = await open("/");
  await checkEach(
    ["/workers", "/functions", "/triggers", "/states", "/streams", "/queues", "/traces", "/logs", "/metrics", "/query"],
    (path) => path,
    async (path) => {
      await visit(page, path);
      await page.getByRole("searchbox").first().waitFor();
      await page.keyboard.press("/");
      await expect.poll(() => page.evaluate("document.activeElement.type")).toBe("search");
      await page.keyboard.type("zzz");
      await page.waitForURL(/=zzz/);
      await page.keyboard.press("Escape");
      await page.waitForURL((url) => !url.search.includes("zzz"));
      await page.keyboard.press("Escape");
      await expect.poll(() => page.evaluate("document.activeElement.type ?? ''")).not.toBe("search");
    },
  );
});

it("accepts Enter in the palette before results arrive, and opens the result", async () => {
  const { page } = await open("/");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Command palette" }).waitFor();
  await page.keyboard.type("piano::play");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/functions\/piano(?:::|%3A%3A)play/);
});

it("calls a function by keyboard alone, from the palette to the result", async () => {
  const { page } = await open("/");
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
  await tabTo(page, page.getByRole("tab", { name: "Invoke" }).first());
  await page.locator(".cm-content").waitFor();
  for (let presses = 0; presses < 30 && (await page.locator(".cm-content:focus").count()) === 0; presses++)
    await page.keyboard.press("Tab");
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText('{"note":"f sharp"}');
  await page.keyboard.press("Control+Enter");
  await page.getByRole("region", { name: "Result" }).getByText("f sharp").waitFor();
});

it("restores the focus when Escape closes a dialog, and blocks page shortcuts while it is open", async () => {
  const { page } = await open("/states/keys");
  await tabTo(page, page.getByRole("button", { name: "Add item" }).first());
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  // The focus cycles within it.
  for (let presses = 0; presses < 12; presses++) {
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.closest('[role=dialog]') !== null")).toBe(true);
  }
  await page.getByRole("dialog").getByRole("button").last().focus();
  await page.keyboard.press("g");
  await page.keyboard.press("w");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await expect.poll(() => page.evaluate("document.activeElement.textContent")).toBe("Add item");
  expect(new URL(page.url()).pathname).toBe("/states/keys");
});

it("runs a palette command where the focus was, and moves the focus where the command says", async () => {
  const { page } = await open("/workers");
  const grid = page.getByRole("grid", { name: "Workers" });
  await tabTo(page, page.getByRole("grid", { name: "Workers" }).first());
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Command palette" }).waitFor();
  await page.keyboard.press("Escape");
  await expect.poll(() => hasFocus(grid)).toBe(true);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("Search workers");
  await page.getByRole("option", { name: /Search workers/ }).waitFor();
  await page.keyboard.press("Enter");
  await expect.poll(() => page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe("Search workers");
});

it("reaches every page and its content by Tab and Enter alone", async () => {
  const { page } = await open("/");
  const links = page.getByRole("navigation", { name: "Pages" }).getByRole("link");
  const names = await links.allTextContents();
  expect(names).toEqual([
    "Dashboard",
    "Workers",
    "Functions",
    "Triggers",
    "States",
    "Streams",
    "Queues",
    "Traces",
    "Logs",
    "Metrics",
    "Query",
    "Nodes",
    "Config",
  ]);
  for (const name of names) {
    await tabTo(page, page.getByRole("link", { name: name }).first());
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: new RegExp(`^${name}`) }).waitFor();
    await expect.poll(() => page.title()).toContain(name);
    await page.reload();
    await live(page);
    await page.locator("#content").locator("button:enabled, a, input:enabled, [tabindex='0']").first().waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.closest('#content') !== null"), name).toBe(true);
  }
});

it("opens a trace and another view of it", async () => {
  const { page } = await open("/traces");
  await page.getByRole("grid").getByRole("row").filter({ hasText: "piano::play" }).first().waitFor();
  await tabTo(page, page.getByRole("grid", { name: /Traces/ }).first());
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/traces\/[0-9a-f]{32}/);
  await tabTo(page, page.getByRole("button", { name: "Flame Graph" }).first());
  await page.keyboard.press("Enter");
  await page.waitForURL(/view=flame/);
});

it("stores an item by keyboard alone", async () => {
  const { page } = await open("/states/keys/a");
  await tabTo(page, page.getByRole("button", { name: "Delete the item" }).first());
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await expect.poll(() => hasFocus(page.getByRole("button", { name: "Delete the item" }))).toBe(true);
  await tabTo(page, page.getByRole("button", { name: "Add item" }).first());
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await page.getByRole("dialog").getByLabel("Key", { exact: true }).focus();
  await page.keyboard.type("typed");
  await tabTo(page, page.getByRole("button", { name: /^Add/ }).first());
  await page.keyboard.press("Enter");
  await page.getByRole("grid", { name: "Items of keys" }).getByRole("row").filter({ hasText: "typed" }).waitFor();
});

describe("on a narrow screen", () => {
  it.each([
    ["/workers", "Workers", "pianist"],
    ["/functions", "Functions", "piano::play"],
    ["/states/keys", "Items of keys", "a"],
    ["/queues", "Queues", "audit"],
  ])("%s: the focus moves to the detail that covers the list, and back to the list", async (path, name, title) => {
    const { page } = await openLive(`${system.console.url}${path}`, { width: 390, height: 844 });
    const grid = page.getByRole("grid", { name });
    await grid.getByText(title, { exact: true }).first().waitFor();
    await grid.focus();
    await page.keyboard.press("ArrowDown");
    const heading = page.getByRole("heading", { level: 2 }).first();
    await heading.waitFor();
    await expect.poll(() => hasFocus(heading)).toBe(true);
    await page.keyboard.press("Shift+Tab");
    await expect.poll(() => hasFocus(page.getByRole("button", { name: "Back to the list" }))).toBe(true);
    await page.keyboard.press("Enter");
    await grid.waitFor();
    await expect.poll(() => hasFocus(grid)).toBe(true);
  });
});
