import { readFile } from "node:fs/promises";
import type { Worker } from "@svc-runtime/sdk";
import type { Locator, Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { axeViolations } from "./support/axe.ts";
import { copiedBy } from "./support/clipboard.ts";
import { startConsole } from "./support/console-process.ts";
import { checkDeepLinks } from "./support/deep-link.ts";
import { deepLink } from "./support/deep-links.ts";
import { keepTrace, spanId, traceId } from "./support/kept-spans.ts";
import { systemOfFile } from "./support/of-file.ts";
import { visit } from "./support/visit.ts";
import { live, openLive, openPage, widthOverflow } from "./support/watched-page.ts";

const HTML = '<b id="planted">bold</b>';
/** The engine must not mask secrets here, because the tests check that the page masks them. */
const CONFIG = `workers:
  - name: svc-state
  - name: svc-observability
    config: { redact_keys: [nothing_is_called_so] }
`;
const system = systemOfFile({ config: CONFIG, killable: true });
let worker: Worker;
let logs: string;
let began: number;

beforeAll(async () => {
  logs = `${system.console.url}/logs`;
  worker = await system.worker("writer");
  began = Date.now();
  await write("info", "the shop opened", { service_name: "shop", data: { floor: 1, "http.route": "/a:b" } });
  await write("error", "\u001b[31mthe till\u001b[0m broke", {
    trace_id: traceId("till"),
    span_id: spanId("till"),
    data: { floor: 2 },
  });
  await write("debug", `counting ${HTML}`, { data: { floor: 3, api_key: "key-secret", function_id: "till::count" } });
  await write("warn", JSON.stringify({ user: "ann", password: "body-secret" }), { service_name: "door" });
  await keepTrace(worker, "shop", [{ id: "shop", name: "shop", ago: 1_000, took: 10 }]);
});

async function write(level: string, message: string, more: object): Promise<void> {
  await worker.call({ function_id: `engine::log::${level}`, payload: { message, service_name: "till", ...more } });
}

const list = (page: Page): Locator => page.getByRole("grid", { name: "Log entries" });
const row = (page: Page, text: string): Locator => list(page).getByRole("row").filter({ hasText: text });
const param = (name: string, ...values: readonly string[]): string =>
  `${name}=${encodeURIComponent(JSON.stringify(values))}`;

/** Messages above that each query shows, and messages that it hides. */
const QUERIES: readonly (readonly [query: () => string, there: readonly string[], hidden: readonly string[]])[] = [
  [() => "q=shop", ["the shop opened"], ["broke"]],
  [() => `q=${encodeURIComponent("/the .*(opened|broke)/")}`, ["the shop opened", "broke"], ["counting"]],
  [() => `q=${encodeURIComponent("-source:shop level>=warn")}`, ["broke"], ["the shop opened", "counting"]],
  [() => param("level", "ERROR", "DEBUG"), ["broke", "counting"], ["the shop opened"]],
  [() => param("source", "till"), ["broke", "counting"], ["the shop opened"]],
  [() => param("not", "till", "writer", "svc"), ["the shop opened"], ["broke"]],
  [() => param("attr", "floor:gte:2"), ["broke", "counting"], ["the shop opened"]],
  [() => param("attr", "http.route:equals:/a:b"), ["the shop opened"], ["broke"]],
  [() => param("attr", "floor:not_exists:"), ["ann"], ["broke", "the shop opened"]],
  [() => `trace=${traceId("till")}`, ["broke"], ["the shop opened"]],
  [() => `trace=${traceId("till")}&span=${spanId("till")}`, ["broke"], ["counting"]],
  [() => "fn=till%3A%3Acount", ["counting"], ["broke"]],
  [() => "worker=writer", ["the shop opened", "broke"], []],
  [() => "range=15m", ["the shop opened", "broke"], []],
  [() => `from=${began - 60_000}&to=${began + 600_000}`, ["the shop opened"], []],
  [() => `to=${began - 60_000}`, [], ["the shop opened"]],
  [() => `${param("off", "level:error")}&q=the`, ["the shop opened", "broke"], ["counting"]],
  [() => `group=true&${param("source", "till")}`, ["broke"], ["the shop opened"]],
  [() => "wrap=true&q=shop", ["the shop opened"], ["broke"]],
  [() => `${param("cols", "message", "floor")}&q=shop`, ["the shop opened"], ["broke"]],
];

it("applies every filter of its URL", async () => {
  await checkDeepLinks(
    QUERIES.map(([query, there, hidden]) => ({
      url: `${logs}?${query()}`,
      holds: async (page) => {
        for (const text of there) await row(page, text).first().waitFor();
        if (there.length === 0) await page.getByText("Nothing matches").waitFor();
        for (const text of hidden) await expect.poll(() => row(page, text).count(), { message: text }).toBe(0);
      },
    })),
  );
});

it(deepLink("logs", ["tab"], "keeps the open entry and its tab in the URL"), async () => {
  const { page, close } = await openLive(`${logs}?q=broke`);
  await row(page, "broke").click();
  await page.getByRole("tab", { name: "Context" }).click();
  await page.waitForURL(/\/logs\/\d+\?.*tab=around/);
  const url = page.url();
  await close();
  await checkDeepLinks([
    { url, holds: (at) => at.getByRole("listitem").filter({ hasText: "the shop opened" }).first().waitFor() },
  ]);
});

it("shows columns in the order of the URL, including attributes, and masks secrets in them", async () => {
  const { page } = await openPage(`${logs}?${param("cols", "message", "floor", "api_key")}&q=counting`);
  await row(page, "counting").waitFor();
  expect(await list(page).getByRole("columnheader").allTextContents()).toEqual(["Message", "floor", "api_key"]);
  expect(await row(page, "counting").textContent()).not.toContain("key-secret");
});

describe("an entry", () => {
  it("shows markup as text and ANSI colours, and links to its trace", async () => {
    const { page } = await openPage(`${logs}?q=counting`);
    await row(page, `counting ${HTML}`).click();
    await page.getByLabel("Message", { exact: true }).getByText(HTML).waitFor();
    expect(await page.locator("#planted").count()).toBe(0);
    await visit(page, "/logs?q=till%20broke");
    await row(page, "the till broke").click();
    const coloured = page.getByLabel("Message", { exact: true }).getByText("the till", { exact: true });
    await coloured.waitFor();
    expect(await coloured.getAttribute("class")).toContain("text-danger");
    await page.getByRole("link", { name: traceId("till"), exact: true }).click();
    await page.waitForURL(new RegExp(`/traces/${traceId("till")}/${spanId("till")}`));
  });

  it("masks secrets until they are revealed, also in copies and in the list", async () => {
    const { page } = await openPage(`${logs}?q=ann`);
    await row(page, "ann").waitFor();
    expect(await row(page, "ann").textContent()).not.toContain("body-secret");
    await row(page, "ann").click();
    const copied = (name: string): Promise<string> => copiedBy(page.getByRole("button", { name, exact: true }));
    for (const name of ["Copy the message", "Copy with timestamp", "Copy as JSON"]) {
      const text = await copied(name);
      expect(text, name).toContain("ann");
      expect(text, name).not.toContain("body-secret");
    }
    await page.getByLabel("Message", { exact: true }).getByRole("button", { name: "Reveal secrets" }).first().click();
    expect(await copied("Copy as JSON")).toContain("body-secret");
    await visit(page, "/logs?q=counting");
    await row(page, "counting").click();
    await page.getByRole("rowheader", { name: "api_key" }).waitFor();
    expect(await page.getByLabel("Attributes").textContent()).not.toContain("key-secret");
    expect(await copied("Copy api_key")).not.toContain("key-secret");
    expect(await page.getByRole("button", { name: "Filter by this value of api_key" }).count()).toBe(0);
    await page.getByRole("button", { name: "Reveal secrets" }).click();
    await page.getByLabel("Attributes").getByText("key-secret").waitFor();
    expect(await copied("Copy api_key")).toBe("key-secret");
  });

  it("opens with a message and an attribute of 5 MB, of which the engine stores the beginning", async () => {
    await write("info", `huge ${"x".repeat(5 * 1024 * 1024)}`, {
      service_name: "huge",
      data: { body: "y".repeat(5 * 1024 * 1024) },
    });
    const { page } = await openPage(`${logs}?${param("source", "huge")}`);
    await row(page, "huge").first().click();
    await page.getByLabel("Message", { exact: true }).getByText("…[cut]").waitFor();
    expect(((await page.locator("#content").textContent()) ?? "").length).toBeLessThan(200_000);
  });
});

it("pauses with the key p, counts new entries, and marks the pause", async () => {
  const { page } = await openLive(`${logs}?${param("source", "shop", "late")}`);
  await row(page, "the shop opened").waitFor();
  await page.keyboard.press("p");
  await page.getByText("Paused. 0 new").waitFor();
  await write("info", "the shop closed", { service_name: "late" });
  await page.getByText("Paused. 1 new").waitFor();
  expect(await row(page, "the shop closed").count()).toBe(0);
  await page.keyboard.press("p");
  await row(page, "the shop closed").waitFor();
  await row(page, "1 received, 0 dropped").waitFor();
});

describe("saved views", () => {
  it.each(["logs", "traces"] as const)("of %s are saved, replaced, opened and deleted", async (name) => {
    const { page } = await openLive(`${system.console.url}/${name}?q=shop&range=1h`);
    await page.getByRole("button", { name: "Views" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("No view of this page is saved yet").waitFor();
    await dialog.getByLabel("Name").fill(`my ${HTML} / view`);
    await page.keyboard.press("Enter");
    await dialog.getByRole("link", { name: `my ${HTML} / view` }).waitFor();
    await dialog.getByText("q=shop range=1h").first().waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await visit(page, `/${name}?q=other`);
    await page.getByRole("button", { name: "Views" }).click();
    await dialog.getByRole("link", { name: `my ${HTML} / view` }).click();
    await page.waitForURL(/\?q=shop&range=1h$/);
    await dialog.waitFor({ state: "detached" });
    await expect.poll(() => page.getByRole("searchbox").first().inputValue()).toBe("shop");
    await visit(page, `/${name}?q=replaced`);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole("button", { name: "More tools" }).click();
    await page.getByRole("button", { name: "Views" }).click();
    await dialog.getByLabel("Name").fill(`my ${HTML} / view`);
    await dialog.getByRole("button", { name: "Replace" }).click();
    await expect.poll(() => dialog.getByRole("link").getAttribute("href")).toBe(`/${name}?q=replaced`);
    expect(await widthOverflow(page)).toBe(0);
    await dialog.getByRole("button", { name: "Delete the view" }).click();
    await dialog.getByText("No view of this page is saved yet").waitFor();
  });

  it("are limited to 50; another one can be saved after one is deleted", async () => {
    const items = Array.from({ length: 50 }, (_, at) => {
      const name = `view ${String(at).padStart(2, "0")}`;
      return { scope: "__console", key: `view/logs/${name}`, value: { name, query: `?q=${at}`, saved_at_ms: at } };
    });
    await worker.call({ function_id: "state::set_many", payload: { items } });
    const { page } = await openLive(logs);
    await page.getByRole("button", { name: "Views" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("one more");
    const save = page.getByRole("dialog").getByRole("button", { name: "Save this view" });
    await expect.poll(() => save.getAttribute("title")).toContain("50 views is the maximum");
    expect(await save.isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Delete the view view 07" }).click();
    await expect.poll(() => save.isEnabled()).toBe(true);
  });
});

describe("an export", () => {
  it.each(["NDJSON", "CSV"])("as %s masks what the page masks", async (format) => {
    const { page } = await openLive(logs);
    await row(page, "counting").first().waitFor();
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: `Export as ${format}` }).click(),
    ]);
    const text = await readFile(await file.path(), "utf8");
    expect(text).toContain("counting");
    expect(text).not.toMatch(/key-secret|body-secret/);
  });
});

it("disables changes in a read-only console and while the engine is unreachable", async () => {
  const view = { name: "kept", query: "?q=kept", saved_at_ms: 0 };
  await worker.call({ function_id: "state::set", payload: { scope: "__console", key: "view/logs/kept", value: view } });
  const readOnly = await startConsole({ engine: system.ports, args: ["--read-only"] });
  const closed = async (page: Page, reason: string): Promise<void> => {
    const remove = page.getByRole("button", { name: "Delete stored logs" });
    await expect.poll(() => remove.getAttribute("title")).toContain(reason);
    expect(await remove.isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Views" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("mine");
    expect(await dialog.getByRole("button", { name: "Save this view" }).isDisabled()).toBe(true);
    expect(await dialog.getByRole("button", { name: "Delete the view" }).first().isDisabled()).toBe(true);
    await page.keyboard.press("Escape");
  };
  const reading = await openPage(`${readOnly.url}/logs`);
  await live(reading.page);
  await closed(reading.page, "read-only");
  await reading.close();
  await readOnly.stop();
  const { page } = await openLive(`${logs}?q=shop`, { expected: [/.*/] });
  await row(page, "the shop opened").waitFor();
  await page.getByRole("button", { name: "Views" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete the view" }).first().waitFor();
  await page.keyboard.press("Escape");
  await system.killEngine();
  await page.getByRole("alert").getByText("The engine cannot be reached").waitFor({ timeout: 20_000 });
  await row(page, "the shop opened").waitFor();
  await closed(page, "The engine cannot be reached");
  await system.startEngine();
  await live(page);
});
