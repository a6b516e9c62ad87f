import { readFile } from "node:fs/promises";
import type { Worker } from "@svc-runtime/sdk";
import type { Page } from "playwright-core";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { axeViolations, checkAccessibility } from "./support/axe.ts";
import { startConsole } from "./support/console-process.ts";
import { deepLink } from "./support/deep-links.ts";
import { consoleOfFile, standInOfFile, systemOfFile } from "./support/of-file.ts";
import { visit } from "./support/visit.ts";
import { live, openLive, openPage, type PageOptions, type WatchedPage, widthOverflow } from "./support/watched-page.ts";

/** Console messages of the browser about failed requests and closed sockets, which the tests cause. */
const BROKEN = [/Failed to load resource/, /WebSocket connection/];

const system = systemOfFile({ consoleArgs: ["--enable-flow", "--read-only"] });
let shop: Worker;
const engine = standInOfFile(system);
const console = consoleOfFile(() => ({ engine: engine.ports, args: ["--enable-flow"] }));

beforeAll(async () => {
  shop = await system.worker("shop");
  const worker = shop;
  worker.registerFunction("shop::save", async () => {
    await worker.call({ function_id: "state::set", payload: { scope: "carts", key: "k", value: 1 } });
    return 1;
  });
  worker.registerFunction("shop::tick", () => 1);
  worker.registerFunction("plain", () => 1);
  const triggers = [
    worker.registerTrigger({
      type: "http",
      function_id: "shop::save",
      config: { api_path: "/carts", http_method: "DELETE" },
    }),
    worker.registerTrigger({ type: "cron", function_id: "shop::tick", config: { expression: "0 0 1 1 *" } }),
  ];
  await Promise.all(triggers.map(({ registered }) => registered));
  await worker.call({ function_id: "shop::save", payload: {} });
});

beforeEach(async () => {
  for (const key of ["flow:system", "flow:system@tb"])
    await shop.call({ function_id: "state::delete", payload: { scope: "__console", key } });
});

const open = (path = "", options: PageOptions = {}): Promise<WatchedPage> =>
  openPage(`${console.url}/flow${path}`, options);

const node = (page: Page, id: string) => page.getByTestId(`rf__node-${id}`);
const content = (page: Page) => page.locator("#content");

/** Returns the position of a node in the graph, independent of the zoom. */
async function positionOf(page: Page, id: string): Promise<{ readonly x: number; readonly y: number }> {
  await node(page, id).waitFor();
  const found = await node(page, id).evaluate((element) =>
    /translate\((-?[\d.]+)px, ?(-?[\d.]+)px\)/.exec(
      (element as { style?: { transform?: string } }).style?.transform ?? "",
    ),
  );
  return { x: Number(found?.[1]), y: Number(found?.[2]) };
}

/** Moves a node by keyboard. It stays selected. */
async function moveDown(page: Page, id: string): Promise<void> {
  await node(page, id).focus();
  await page.keyboard.press("Enter");
  for (let step = 0; step < 4; step++) await page.keyboard.press("ArrowDown");
}

describe("the graph", () => {
  it("shows triggers by kind and method, and calls seen in traces, with links to their pages", async () => {
    const { page } = await open();
    await page.locator('[data-kind="http"][data-method="DELETE"]').getByText("DELETE /carts").waitFor();
    await page.locator('[data-kind="cron"]').waitFor();
    await page.locator('[data-kind="state"]').getByText("carts").waitFor();
    await page.locator('[data-kind="function"]').getByText("shop::save").click();
    await page.getByRole("link", { name: "shop::save" }).waitFor();
    await page.getByText("State, seen 1×").waitFor();
    await expect.poll(() => new URL(page.url()).searchParams.get("focus")).toBe("function shop::save");
  });

  it("puts called nodes after their callers, in both directions", async () => {
    const { page } = await open();
    const [trigger, caller, called] = ["http", "function", "state"].map((kind) =>
      page.locator(`.react-flow__node:has([data-kind="${kind}"])`).filter({ hasText: /carts|shop::save/ }),
    );
    const at = async (which: typeof trigger): Promise<{ x: number; y: number }> =>
      (await which?.boundingBox()) ?? { x: Number.NaN, y: Number.NaN };
    await called?.waitFor();
    expect((await at(trigger)).x).toBeLessThan((await at(caller)).x);
    expect((await at(caller)).x).toBeLessThan((await at(called)).x);
    await page.getByLabel("Direction").selectOption("tb");
    await page.waitForURL(/dir=tb/);
    await expect
      .poll(async () => (await at(caller)).y < (await at(called)).y && (await at(trigger)).y < (await at(caller)).y)
      .toBe(true);
  });

  it("keeps names legible, however far the graph is zoomed out", async () => {
    const { page } = await open();
    const name = page.locator('[data-kind="function"] .flow-name').first();
    const sizeOnScreen = (): Promise<number> =>
      name.evaluate(
        (element: { readonly offsetWidth: number; getBoundingClientRect(): { readonly width: number } }) => {
          const { getComputedStyle: styleOf } = globalThis as unknown as {
            getComputedStyle(of: unknown): { readonly fontSize: string };
          };
          const zoom = element.getBoundingClientRect().width / element.offsetWidth;
          return Number.parseFloat(styleOf(element).fontSize) * zoom;
        },
      );
    await name.waitFor();
    expect(await sizeOnScreen()).toBeGreaterThanOrEqual(11);
    const zoomOut = page.getByRole("button", { name: "Zoom Out" });
    for (let times = 0; times < 5; times++) await zoomOut.click();
    await page.locator(".flow-canvas-small").waitFor();
    await expect.poll(sizeOnScreen).toBeGreaterThanOrEqual(10.99);
    // Texts that would be smaller are hidden.
    await expect.poll(() => page.locator(".flow-subtitle").first().isVisible()).toBe(false);
  });

  it("marks nodes that are called now, also in words", async () => {
    const { page } = await open();
    await node(page, "function plain").waitFor();
    await expect
      .poll(
        async () => {
          await shop.call({ function_id: "plain", payload: {} });
          return node(page, "function plain").textContent();
        },
        { timeout: 30_000, interval: 1_000 },
      )
      .toMatch(/\d+ now/);
    await node(page, "function plain").locator('[data-pulse="ok"]').waitFor();
    expect(await node(page, "function shop::tick").locator("[data-pulse]").count()).toBe(0);
  });

  it(deepLink("flow", ["layers"], "shows only the selected layers, and keeps them in the URL"), async () => {
    const { page } = await open();
    await page.locator('[data-kind="state"]').getByText("carts").waitFor();
    await page.getByRole("button", { name: "Layers" }).click();
    await page.getByRole("checkbox", { name: "State" }).uncheck();
    await page.locator('[data-kind="state"]').waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Layers (5 of 6)" }).waitFor();
    expect(await page.evaluate("document.activeElement.textContent")).toContain("Layers");
    await page.reload();
    await page.locator('[data-kind="http"]').waitFor();
    expect(await page.locator('[data-kind="state"]').count()).toBe(0);
    await visit(page, "/flow?layers=nonsense");
    await page.getByRole("status").getByText("layers").waitFor();
    await page.locator('[data-kind="state"]').getByText("carts").waitFor();
  });

  it(deepLink("flow", ["closed"], "collapses a group of functions into one node until it is expanded"), async () => {
    const { page } = await open("?focus=function%20shop%3A%3Asave");
    await page.getByRole("button", { name: "Collapse prefix shop (2)" }).click();
    await node(page, "group shop").getByText("2 functions").waitFor();
    expect(await node(page, "function shop::save").count()).toBe(0);
    const url = new URL(page.url());
    expect([url.searchParams.get("closed"), url.searchParams.get("focus")]).toEqual(['["shop"]', "group shop"]);
    await page.reload();
    await page.getByRole("link", { name: "shop::tick" }).waitFor();
    await page.getByRole("button", { name: "Expand the group" }).click();
    await node(page, "function shop::save").waitFor();
    await page.getByRole("button", { name: "Groups" }).click();
    await page.getByRole("button", { name: "Collapse prefixes" }).click();
    await node(page, "group shop").waitFor();
  });

  it("reads a flow, a node's neighbourhood, a search and a range from the URL", async () => {
    const { page } = await open(`/${encodeURIComponent("function shop::save")}`);
    await page.locator('[data-kind="state"]').getByText("carts").waitFor();
    await expect.poll(() => page.locator(".react-flow__node").count()).toBe(2);
    await page.getByRole("button", { name: "Whole system" }).click();
    await node(page, "function plain").waitFor();
    await visit(page, "/flow?focus=function%20shop%3A%3Atick&hops=1&range=15m&system=true");
    await page.getByRole("button", { name: "Show all nodes" }).waitFor();
    await page.locator('[data-kind="cron"]').waitFor();
    await expect.poll(() => page.locator(".react-flow__node").count()).toBe(2);
    await page.getByRole("button", { name: "Time range: Last 15 minutes" }).waitFor();
    expect(await page.getByRole("checkbox", { name: "System" }).isChecked()).toBe(true);
    await visit(page, "/flow?q=tick");
    await page.getByText("1 found").waitFor();
    await visit(page, "/flow?hops=99&dir=sideways");
    await page.getByRole("status").getByText("hops, dir").waitFor();
    await visit(page, `/flow/${encodeURIComponent("function gone")}`);
    await page.getByText("“function gone” does not exist now.").waitFor();
  });

  it.each(["svg", "json", "png"] as const)("downloads the graph as %s", async (format) => {
    const { page } = await open("?dir=tb");
    await node(page, "function plain").waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByLabel("Export the graph").selectOption(format),
    ]);
    expect(download.suggestedFilename()).toBe(`flow.${format}`);
    const bytes = await readFile(await download.path());
    if (format === "png") expect(bytes.subarray(1, 4).toString()).toBe("PNG");
    else expect(bytes.toString()).toContain("shop::save");
  });
});

describe("the layout", () => {
  it("is saved for later and for other browsers, until it is reset", async () => {
    const first = await open();
    await moveDown(first.page, "function shop::tick");
    await first.page.getByText("Layout saved").waitFor();
    const moved = await positionOf(first.page, "function shop::tick");
    await first.close();
    const second = await open();
    await second.page.getByText("Layout saved").waitFor();
    expect(await positionOf(second.page, "function shop::tick")).toEqual(moved);
    await second.page.getByRole("button", { name: "Reset layout" }).click();
    await second.page.getByText("Automatic layout").waitFor();
    await expect.poll(async () => (await positionOf(second.page, "function shop::tick")).y).not.toBe(moved.y);
    expect([...first.faults, ...second.faults]).toEqual([]);
    await second.close();
  });

  it("is saved if the user leaves the page right after a move", async () => {
    const { page } = await open();
    await moveDown(page, "function shop::tick");
    const moved = await positionOf(page, "function shop::tick");
    await page.getByRole("link", { name: "Config" }).click();
    await page.getByRole("heading", { level: 1, name: "Config" }).waitFor();
    await page.goBack();
    await page.getByText("Layout saved").waitFor();
    await expect.poll(() => positionOf(page, "function shop::tick")).toEqual(moved);
  });

  it("ignores nodes that no longer exist", async () => {
    const value = {
      positions: { "function gone": [0, 0], "function plain": [1234, 567], "function shop::tick": "nowhere" },
      saved_at_ms: 1,
    };
    await shop.call({ function_id: "state::set", payload: { scope: "__console", key: "flow:system", value } });
    const { page } = await open();
    expect(await positionOf(page, "function plain")).toEqual({ x: 1234, y: 567 });
    await node(page, "function shop::tick").waitFor();
    expect(await node(page, "function gone").count()).toBe(0);
  });

  it("reports why saving failed, and saves on retry", async () => {
    engine.fail("state::set", "storage_failed", "the disk has gone for a walk");
    const { page } = await open("", { expected: BROKEN });
    await moveDown(page, "function shop::tick");
    const alert = page
      .getByRole("alert")
      .filter({ hasText: "Failed to save the layout: the disk has gone for a walk" });
    await alert.waitFor();
    engine.asIs();
    await alert.getByRole("button", { name: "Try again" }).click();
    await page.getByText("Layout saved").waitFor();
  });

  it("reports that loading failed, and loads on retry", async () => {
    engine.fail("state::get_entry", "storage_failed", "the disk has gone for a walk");
    const { page } = await open("", { expected: BROKEN });
    const alert = page.getByRole("alert").filter({ hasText: "Failed to load the layout" });
    await alert.waitFor();
    await node(page, "function plain").waitFor();
    engine.asIs();
    await alert.getByRole("button", { name: "Try again" }).click();
    await page.getByText("Automatic layout").waitFor();
  });

  it.each(["Load it", "Overwrite it"] as const)(
    "does not overwrite another browser's layout without confirmation: %s",
    async (choice) => {
      const mine = await open("", { expected: BROKEN });
      await mine.page.getByText("Automatic layout").waitFor();
      await node(mine.page, "function plain").waitFor();
      const theirs = await open();
      await moveDown(theirs.page, "function plain");
      await theirs.page.getByText("Layout saved").waitFor();
      const [plain, tick] = [
        await positionOf(theirs.page, "function plain"),
        await positionOf(theirs.page, "function shop::tick"),
      ];
      await theirs.close();
      await moveDown(mine.page, "function shop::tick");
      const alert = mine.page.getByRole("alert").filter({ hasText: "Another browser saved this layout" });
      const moved = await positionOf(mine.page, "function shop::tick");
      await alert.getByRole("button", { name: choice }).click();
      await mine.page.getByText("Layout saved").waitFor();
      await expect
        .poll(() => positionOf(mine.page, "function shop::tick"))
        .toEqual(choice === "Overwrite it" ? moved : tick);
      if (choice === "Load it") expect(await positionOf(mine.page, "function plain")).toEqual(plain);
      expect([...mine.faults, ...theirs.faults]).toEqual([]);
      await mine.close();
    },
  );

  it("does not report a conflict with its own slow save", async () => {
    const { page } = await open();
    await page.getByText("Automatic layout").waitFor();
    const release = engine.delay("state::set");
    await moveDown(page, "function shop::tick");
    await expect.poll(() => engine.asked("state::set")).toBeGreaterThan(0);
    const asked = engine.asked("state::set");
    await page.keyboard.press("ArrowDown");
    const moved = await positionOf(page, "function shop::tick");
    release();
    await expect.poll(() => engine.asked("state::set")).toBeGreaterThan(asked);
    await page.getByText("Layout saved").waitFor();
    await page.reload();
    expect(await positionOf(page, "function shop::tick")).toEqual(moved);
  });

  it("can be moved, but neither saved nor reset, in a read-only console", async () => {
    const { page } = await openLive(`${system.console.url}/flow`);
    await moveDown(page, "function shop::tick");
    await page.getByText("Layout not saved: This console is read-only").waitFor();
    const reset = page.getByRole("button", { name: "Reset layout" });
    expect([await reset.isDisabled(), await reset.getAttribute("title")]).toEqual([
      true,
      "This console is read-only: it was started with --read-only",
    ]);
  });
});

describe("by keyboard alone", () => {
  it("follows edges, opens and closes a node", async () => {
    const { page } = await open("?q=");
    await page.locator('[data-kind="state"]').getByText("carts").waitFor();
    await page.locator('.react-flow__node:has([data-kind="http"])').focus();
    const focused = () => page.evaluate("document.activeElement.dataset.id");
    await page.keyboard.press("ArrowRight");
    await expect.poll(focused).toBe("function shop::save");
    await page.keyboard.press("ArrowRight");
    await expect.poll(focused).toBe("state carts");
    await page.keyboard.press("ArrowLeft");
    await expect.poll(focused).toBe("function shop::save");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "shop::save" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("region", { name: "shop::save" }).waitFor({ state: "detached" });
  });

  it("focuses all nodes in reading order with j and k, from the top without a click", async () => {
    const { page } = await open();
    await page.locator('[data-kind="state"]').getByText("carts").waitFor();
    const inOrder = (await page
      .locator(".react-flow__node")
      .evaluateAll((nodes) => nodes.map((each) => each.getAttribute("data-id")))) as readonly string[];
    const focused = () => page.evaluate("document.activeElement.dataset.id");
    for (const id of inOrder) {
      await page.keyboard.press("j");
      await expect.poll(focused).toBe(id);
    }
    await page.keyboard.press("k");
    await expect.poll(focused).toBe(inOrder.at(-2));
    await page.keyboard.press("Enter");
    await expect.poll(() => new URL(page.url()).searchParams.get("focus")).toBe(inOrder.at(-2));
  });

  it("selects several nodes and aligns them", async () => {
    const { page } = await open();
    await page.locator('[data-kind="state"]').getByText("carts").waitFor();
    for (const id of ["function shop::save", "state carts"]) {
      await node(page, id).focus();
      await page.keyboard.press("Control+Enter");
    }
    const bar = page.getByRole("toolbar", { name: "Align the selected nodes" });
    await bar.getByText("2 selected").waitFor();
    await bar.getByRole("button", { name: "Align left" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("Layout saved").waitFor();
    const [one, other] = [await positionOf(page, "function shop::save"), await positionOf(page, "state carts")];
    expect(one.x).toBe(other.x);
    expect(one.y).not.toBe(other.y);
  });
});

describe("its states", () => {
  const LIVE = ["svc.functions", "svc.triggers"];

  it("shows loading instead of an empty state", async () => {
    for (const stream of LIVE) engine.stream(stream, { kind: "hold" });
    const { page } = await open();
    await live(page);
    await content(page).getByRole("status", { name: "Loading" }).first().waitFor();
    expect(await page.getByText("Nothing to show").count()).toBe(0);
    engine.asIs();
    await node(page, "function plain").waitFor();
  });

  it("explains an empty graph", async () => {
    for (const stream of LIVE) engine.stream(stream, { kind: "items", items: [] });
    engine.answer("queue::list", () => ({ queues: [] }));
    engine.answer("engine::streams::list", () => ({ streams: [] }));
    engine.answer("state::groups", () => ({ items: [], cursor: null, total: 0 }));
    const { page } = await open();
    await page.getByText("Nothing to show").waitFor();
  });

  it("says so if the search matches nothing, and clears it", async () => {
    const { page } = await open("?view=list&q=zzz");
    await page.getByText("No node matches “zzz”.").waitFor();
    await page.getByRole("button", { name: "Clear the filters" }).click();
    await page.getByRole("row").filter({ hasText: "shop::save" }).first().waitFor();
    expect(new URL(page.url()).search).not.toContain("zzz");
  });

  it("shows an error in place of the graph, and recovers", async () => {
    engine.stream("svc.functions", { kind: "refuse" });
    const { page } = await open("", { expected: BROKEN });
    await content(page).getByRole("alert").getByText("you may not join it today").waitFor();
    engine.asIs();
    await node(page, "function plain").waitFor();
  });

  it("reports which source failed and why, shows the rest, and retries", async () => {
    engine.fail("state::groups", "storage_failed", "the disk has gone for a walk");
    engine.fail("engine::traces::list", "storage_failed", "no traces today");
    const { page } = await open("", { expected: BROKEN });
    await node(page, "function plain").waitFor();
    await page.getByRole("alert").filter({ hasText: "Failed to load calls: no traces today" }).waitFor();
    const missing = page
      .getByRole("alert")
      .filter({ hasText: "State may be incomplete: the disk has gone for a walk" });
    await missing.waitFor();
    engine.asIs();
    await missing.getByRole("button", { name: "Try again" }).click();
    await page.locator('[data-kind="state"]').getByText("carts").waitFor();
    await missing.waitFor({ state: "detached" });
  });

  it("keeps the graph while the engine is unreachable, and saves when it is back", async () => {
    const { page } = await open("", { expected: BROKEN });
    await live(page);
    await node(page, "function plain").waitFor();
    await engine.goAway();
    await page.getByRole("alert").filter({ hasText: "The engine cannot be reached" }).waitFor();
    await moveDown(page, "function plain");
    await page.getByText("Layout not saved: The engine cannot be reached").waitFor();
    await engine.comeBack();
    await live(page);
    await page.getByText("Layout saved").waitFor();
  });

  it("explains how to enable it if it is disabled, and has no entry in the sidebar", async () => {
    const bare = await startConsole({ engine: system.ports });
    const { page, close } = await openPage(`${bare.url}/flow`);
    await page.getByText("The Flow page is disabled").waitFor();
    await page.getByText("svc console --enable-flow").waitFor();
    expect(await page.getByRole("navigation").getByRole("link", { name: "Flow" }).count()).toBe(0);
    await close();
    await bare.stop();
  });
});

it("is accessible and fits the window in both themes, wide and narrow, as graph, as list and with details", async () => {
  const { page } = await open();
  await live(page);
  await page.locator('[data-kind="http"]').waitFor();
  await checkAccessibility(page, "the graph", () => page.locator('[data-kind="http"]').waitFor());
  await page.getByRole("button", { name: "Layers" }).click();
  await page.getByRole("dialog", { name: "Layers" }).waitFor();
  expect(await axeViolations(page), "the layers, wide").toEqual([]);
  await page.keyboard.press("Escape");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByRole("button", { name: "More tools" }).click();
  await page.getByRole("button", { name: "Layers" }).click();
  await page.getByRole("dialog", { name: "Layers" }).waitFor();
  await page.emulateMedia({ colorScheme: "dark" });
  expect(await axeViolations(page), "the layers, narrow and dark").toEqual([]);
  expect(await widthOverflow(page), "the layers, narrow").toBe(0);
  await page.emulateMedia({ colorScheme: "light" });
  await visit(page, "/flow?view=list");
  const carts = page.getByRole("row").filter({ hasText: /^carts/ });
  await carts.waitFor();
  await page.getByRole("searchbox").fill("shop");
  await carts.waitFor({ state: "detached" });
  const saving = page.getByRole("row").filter({ hasText: "shop::save" }).first();
  await checkAccessibility(page, "the list", () => saving.waitFor());
  await visit(page, "/flow?closed=%5B%22shop%22%5D&focus=group%20shop");
  await checkAccessibility(page, "a group", () => page.getByRole("link", { name: "shop::tick" }).waitFor());
  await node(page, "group shop").waitFor();
});
