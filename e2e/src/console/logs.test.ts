import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { axeViolations, checkAccessibility } from "./support/axe.ts";
import { clipboard } from "./support/clipboard.ts";
import { holdCalls } from "./support/held-calls.ts";
import { sendLiveLogs } from "./support/live-logs.ts";
import { systemOfFile } from "./support/of-file.ts";
import { checkEach, visit } from "./support/visit.ts";
import { openLive, openPage } from "./support/watched-page.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const system = systemOfFile();
let log: (level: string, message: string, more?: object) => Promise<unknown>;

beforeAll(async () => {
  const worker = await system.worker("writer");
  worker.registerFunction("order::place", () => 1);
  await worker.call({ function_id: "order::place", payload: {} });
  log = (level, message, more = {}) =>
    worker.call({ function_id: `engine::log::${level}`, payload: { message, service_name: "api", ...more } });
  await log("error", "\u001b[31mfailed\u001b[0m <img src=x onerror=alert(1)>", {
    trace_id: TRACE,
    span_id: SPAN,
    data: { status: 503 },
  });
  for (let at = 0; at < 30; at++)
    await log("info", `order ${at} took ${at} ms`, { service_name: "shop", data: { status: 200 } });
});

describe("the Logs page", () => {
  it("shows the newest entries first, follows new ones, and links an entry to its span", async () => {
    const { page } = await openLive(`${system.console.url}/logs`);
    await page.getByRole("row").filter({ hasText: "order 29" }).waitFor();
    await log("warn", "something new");
    await page.getByRole("row").nth(1).filter({ hasText: "something new" }).waitFor();
    const row = page.getByRole("row").filter({ hasText: "failed <img" });
    await row.getByText("ERROR", { exact: true }).click();
    // The list shows "status=503" too.
    await page.getByRole("cell", { name: "503", exact: true }).waitFor();
    expect(page.url()).toMatch(/\/logs\/\d+/);
    await page.getByLabel("Message", { exact: true }).getByText("failed", { exact: true }).waitFor();
    await page.getByRole("link", { name: TRACE, exact: true }).click();
    await page.waitForURL(`**/traces/${TRACE}/${SPAN}`);
  });

  it.each([
    ["/logs", "engine::logs::histogram", "order 29", /\/logs\/\d+/],
    ["/traces", "engine::traces::histogram", "order::place", /\/traces\/[0-9a-f]{32}/],
  ])("%s opens the clicked entry even if the histogram loads during the click", async (path, counts, text, opened) => {
    const { page } = await openPage("about:blank");
    const release = await holdCalls(page, counts);
    await page.goto(`${system.console.url}${path}`);
    const row = page.getByRole("row").filter({ hasText: text }).first();
    await row.getByText(text).hover();
    await page.mouse.down();
    release();
    await page
      .getByRole(path === "/logs" ? "slider" : "figure")
      .first()
      .waitFor();
    await page.mouse.up();
    await page.waitForURL(opened);
  });

  it("applies the filters of its URL", async () => {
    const { page } = await openLive(`${system.console.url}/logs`);
    await checkEach(
      [
        // Excludes the engine's own entries, because on a busy machine it logs an error about its health.
        ["level=%5B%22ERROR%22%5D&not=svc", ["level:ERROR"]],
        ["source=api&level=error", ["source:api", "level:error"]],
        ["not=shop&not=svc&not=writer&q=failed", ["-source:shop"]],
        ["attr=status:gte:500", ["attr.status>=500"]],
        [`trace=${TRACE}&span=${SPAN}`, ["trace:", "span:"]],
        ["q=level%3Aerror%20failed", []],
        ["q=%2F%5E.*fail%2F", []],
        [`q=${encodeURIComponent("not source:svc and (error or source:nobody*) failed")}`, []],
      ] as const,
      ([query]) => query,
      async ([query, chips]) => {
        await visit(page, `/logs?${query}`);
        await page.getByRole("row").filter({ hasText: "failed" }).waitFor();
        await expect.poll(() => page.getByRole("row").count()).toBe(2);
        for (const chip of chips) await page.getByLabel("Filters").getByText(chip).waitFor();
      },
    );
  });

  it("holds a limited amount of memory, however many entries arrive while it is open", async () => {
    const { page } = await openPage("about:blank");
    const logs = await sendLiveLogs(page, "flood");
    const inspector = await page.context().newCDPSession(page);
    const heapBytes = async (): Promise<number> => {
      await inspector.send("HeapProfiler.collectGarbage");
      return (await inspector.send("Runtime.getHeapUsage")).usedSize;
    };
    await page.goto(`${system.console.url}/logs?source=flood`);
    await page.getByText("Nothing matches").waitFor();
    await logs.send(0, 10_000);
    await page.getByRole("row").nth(1).filter({ hasText: "entry 9999" }).waitFor();
    const before = await heapBytes();
    await logs.send(10_000, 40_000);
    await page.getByRole("row").nth(1).filter({ hasText: "entry 39999" }).waitFor();
    expect((await heapBytes()) - before).toBeLessThan(4 * 1024 * 1024);
  });

  it("turns typed filters into chips, disables a chip, and excludes a source in the breakdown", async () => {
    const { page } = await openLive(`${system.console.url}/logs`);
    await page.keyboard.press("/");
    await page.keyboard.type("level:error failed");
    await page.keyboard.press("Enter");
    const chip = page.getByLabel("Filters").getByRole("button", { name: "level:ERROR", exact: true });
    await chip.waitFor();
    await expect.poll(() => page.getByRole("row").count()).toBe(2);
    expect(new URL(page.url()).searchParams.get("q")).toBe("failed");
    await chip.click();
    await expect.poll(() => chip.getAttribute("aria-pressed")).toBe("false");
    await page.getByRole("button", { name: "Clear all" }).click();
    await page
      .getByLabel("By source")
      .getByRole("button", { name: /^shop/ })
      .click({ modifiers: ["Shift"] });
    await expect.poll(() => page.getByRole("row").filter({ hasText: "order" }).count()).toBe(0);
    await page.getByLabel("Filters").getByText("-source:shop").waitFor();
  });

  it("groups similar entries, finds text in the list, and says so if nothing matches", async () => {
    const { page } = await openLive(`${system.console.url}/logs?source=shop&group=true`);
    await page.getByRole("button", { name: "30 similar" }).click();
    await page.keyboard.press("Control+f");
    await page.keyboard.type("order 7 ");
    await page.getByText("of 1").or(page.getByText("of 2")).waitFor();
    await visit(page, "/logs?q=nothingatall");
    await page.getByText("Nothing matches").waitFor();
    await page.getByRole("button", { name: "Clear the filters" }).click();
    await page.getByRole("row").filter({ hasText: "order 29" }).waitFor();
  });

  it("finds text in entries older than those loaded, and keeps a selected entry in view while new ones arrive", async () => {
    await log("info", "the needle", { service_name: "hay" });
    for (let at = 0; at < 400; at++) await log("info", `straw ${at}`, { service_name: "hay" });
    const { page } = await openLive(`${system.console.url}/logs?source=hay`);
    const grid = page.getByRole("grid", { name: "Log entries" });
    const newest = grid.getByRole("row").filter({ hasText: "straw 399" });
    await newest.waitFor();
    await page.keyboard.press("Control+f");
    await page.keyboard.type("the needle");
    await page.getByRole("search").getByText("1 of 1", { exact: true }).waitFor();
    await page.keyboard.press("Enter");
    await grid.getByRole("row").filter({ hasText: "the needle" }).waitFor();
    await page.keyboard.press("Escape");
    await grid.focus();
    await page.keyboard.press("Home");
    await page.waitForURL(/\/logs\/\d+/);
    for (let at = 0; at < 60; at++) await log("info", `more straw ${at}`, { service_name: "hay" });
    await page.getByRole("button", { name: "60 new" }).waitFor();
    const [list, row] = await Promise.all([grid.boundingBox(), newest.boundingBox()]);
    expect(row?.y).toBeGreaterThan(list?.y ?? 0);
    expect((row?.y ?? 0) + (row?.height ?? 0)).toBeLessThan((list?.y ?? 0) + (list?.height ?? 0));
    await page.getByRole("button", { name: "60 new" }).click();
    await grid.getByRole("row").nth(1).filter({ hasText: "more straw 59" }).waitFor();
  });

  it("exports all matches as NDJSON, and as CSV without formulas", async () => {
    await log("info", '=HYPERLINK("http://x")', { service_name: "sheet" });
    const { page } = await openLive(`${system.console.url}/logs?source=sheet`);
    await page.getByRole("row").filter({ hasText: "HYPERLINK" }).waitFor();
    const [csv] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export as CSV" }).click(),
    ]);
    expect(await readFile(await csv.path(), "utf8")).toContain(`"'=HYPERLINK(""http://x"")"`);
    const [ndjson] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export as NDJSON" }).click(),
    ]);
    expect(JSON.parse(await readFile(await ndjson.path(), "utf8"))).toMatchObject({
      body: '=HYPERLINK("http://x")',
      service_name: "sheet",
    });
  });

  it("copies an entry with all digits, also before the exact entry is loaded", async () => {
    await log("info", "a large number", { service_name: "digits", data: { total: 200 } });
    const { page } = await openLive(`${system.console.url}/logs?source=digits`);
    let arrive: () => void = () => undefined;
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    await page.route("**/api/call", async (route) => {
      if (route.request().postData()?.includes("engine::logs::get") !== true) return route.continue();
      const answer = await route.fetch();
      await arrived;
      return route.fulfill({
        response: answer,
        body: (await answer.text()).replace('"total":200', '"total":9007199254740993'),
      });
    });
    await page.getByRole("row").filter({ hasText: "a large number" }).first().click();
    await page.getByRole("button", { name: "Copy as JSON" }).click();
    await page.locator('button[aria-busy="true"]', { hasText: "Copy as JSON" }).waitFor();
    arrive();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    expect(await clipboard(page)).toContain('"total": 9007199254740993');
  });

  it("is accessible and fits the window in both themes, wide and narrow", async () => {
    const { page } = await openLive(`${system.console.url}/logs?level=ERROR&level=INFO&off=level:warn&q=took%202`);
    const row = page.getByRole("row").filter({ hasText: "order 29" });
    await checkAccessibility(page, "the list", () => row.waitFor());
    await row.waitFor();
    await page.getByRole("grid").focus();
    await page.keyboard.press("End");
    await checkAccessibility(page, "an entry", () => page.getByRole("tab", { name: "Entry" }).waitFor());
  });

  it("shows a long message in a box that scrolls by keyboard", async () => {
    await log("info", Array.from({ length: 100 }, (_, at) => `line ${at}`).join("\n"), { service_name: "long" });
    const { page } = await openLive(`${system.console.url}/logs?source=long`);
    await page.getByRole("row").filter({ hasText: "line 0" }).click();
    const text = page.getByRole("region", { name: "Text", exact: true });
    await text.focus();
    await page.keyboard.press("End");
    await expect.poll(() => text.evaluate((box) => box.scrollTop)).toBeGreaterThan(0);
    expect(await axeViolations(page)).toEqual([]);
  });

  it("deletes stored entries only after the user typed the words", async () => {
    const { page } = await openLive(`${system.console.url}/logs?source=shop`);
    await page.getByRole("row").filter({ hasText: "order 29" }).waitFor();
    await page.getByRole("button", { name: "Delete stored logs" }).click();
    const action = page.getByRole("button", { name: "Delete all log entries" });
    expect(await action.isDisabled()).toBe(true);
    await page.getByRole("dialog").getByRole("textbox").fill("delete logs");
    await action.click();
    await page.getByText("Nothing matches").waitFor();
  });
});
