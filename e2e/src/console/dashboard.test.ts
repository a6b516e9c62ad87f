import type { Browser, Page } from "playwright-core";
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

/** The figure of a counter, once it is known. */
function counter(page: Page, name: string, value: string | RegExp) {
  return page.getByRole("region", { name: "Counters" }).getByRole("link", { name: new RegExp(`^${name}: ${value instanceof RegExp ? value.source : value}`) });
}

it("counts a worker that connects within a second, and shows the way to the first one before", async () => {
  const { page, faults, close } = await openPage(browser, `${system.console.url}/`);
  await live(page);
  await counter(page, "Workers", "0\\b").waitFor();
  await page.getByText("three steps to the first one").waitFor();
  await page.getByRole("button", { name: "Python" }).click();
  await page.getByText("pip install svc").waitFor();
  // One sample is no line.
  await page.getByText("collecting").first().waitFor();
  const worker = await system.worker("counted");
  await counter(page, "Workers", "1\\b").waitFor({ timeout: 2_000 });
  await worker.shutdown();
  await counter(page, "Workers", "0\\b").waitFor({ timeout: 2_000 });
  expect(faults).toEqual([]);
  await close();
});

it("leads from each counter to its list, which is as long", async () => {
  const worker = await system.worker("lists");
  const { page, faults, close } = await openPage(browser, `${system.console.url}/`);
  await counter(page, "Workers", "1\\b").click();
  await page.waitForURL(/\/workers$/);
  await page.getByRole("row").filter({ hasText: "lists" }).waitFor();
  expect(await page.getByRole("row").filter({ hasText: "Connected" }).count()).toBe(1);
  for (const [name, path] of [
    ["Functions", "/functions"],
    ["Triggers", "/triggers"],
    ["Streams", "/streams"],
  ] as const) {
    await page.goto(system.console.url);
    await counter(page, name, /\d/).click();
    await page.waitForURL(`**${path}`);
  }
  expect(faults).toEqual([]);
  await worker.shutdown();
  await close();
});

it("draws what calls what, names what fails and lost workers, and mutes on request", async () => {
  const worker = await system.worker("shop");
  worker.registerFunction("shop::buy", async () => {
    await worker.call({ function_id: "state::set", payload: { scope: "shop", key: "k", value: 1 } });
    throw new Error("sold out");
  });
  worker.registerTrigger({ type: "http", function_id: "shop::buy", config: { api_path: "/buy", http_method: "POST" } });
  await expect(worker.call({ function_id: "shop::buy", payload: {} })).rejects.toThrow("sold out");
  const { page, faults, close } = await openPage(browser, `${system.console.url}/`);
  const flow = page.getByRole("region", { name: "Application flow" });
  await flow.getByRole("link", { name: /POST \/buy/ }).waitFor();
  await flow.getByRole("link", { name: /shop::buy/ }).waitFor();
  await flow.getByRole("link", { name: "state" }).waitFor({ timeout: 30_000 });
  await flow.getByRole("button", { name: "Table" }).click();
  await flow.getByRole("row").filter({ hasText: "shop::buy" }).filter({ hasText: "state" }).waitFor();
  expect(new URL(page.url()).searchParams.get("view")).toBe("table");
  await page.getByRole("region", { name: "Latest errors" }).getByText("sold out").first().waitFor();
  const attention = page.getByRole("region", { name: "Needs attention" });
  await attention.getByText("shop::buy fails").waitFor();
  await worker.shutdown();
  await attention.getByText("Worker shop is gone").waitFor();
  await attention.getByRole("button", { name: "Mute for 1 h: Worker shop is gone" }).click();
  await attention.getByRole("button", { name: "Show 1 muted" }).waitFor();
  expect(await attention.getByText("Worker shop is gone").count()).toBe(0);
  expect(faults).toEqual([]);
  await close();
});

it("keeps its range in the address", async () => {
  const { page, faults, close } = await openPage(browser, `${system.console.url}/?range=1h`);
  await page.getByRole("button", { name: "Time range: Last hour" }).click();
  await page.getByRole("button", { name: "Last 5 minutes" }).click();
  await page.waitForURL(/range=5m/);
  await page.goBack();
  await page.getByRole("button", { name: "Time range: Last hour" }).waitFor();
  expect(faults).toEqual([]);
  await close();
});

it("keeps its figures and calls them stale while the engine is away", async () => {
  const own = await startSystem();
  const { page, close } = await openPage(browser, `${own.console.url}/`, { expected: [/.*/] });
  await counter(page, "Functions", /[1-9]/).waitFor();
  await page.getByText(/Last update .* · live/).waitFor();
  await own.killEngine();
  await page.getByText("Stale, as of").waitFor({ timeout: 20_000 });
  expect(await counter(page, "Functions", /[1-9]/).count()).toBe(1);
  await close();
  await own.stop();
});

it.each(["light", "dark"] as const)("is accessible and fits a narrow screen in the %s theme", async (theme) => {
  const worker = await system.worker(`axe-${theme}`);
  worker.registerFunction("axe::look", () => 1);
  await worker.call({ function_id: "axe::look", payload: {} });
  for (const width of [1440, 390]) {
    const { page, faults, close } = await openPage(browser, `${system.console.url}/`, { theme, width });
    await page.getByRole("region", { name: "Application flow" }).getByText("axe::look").first().waitFor();
    await page.getByRole("region", { name: "Slowest traces" }).getByRole("listitem").first().waitFor();
    expect(await axeViolations(page)).toEqual([]);
    expect(await widthOverflow(page)).toBe(0);
    expect(faults).toEqual([]);
    await close();
  }
  await worker.shutdown();
});
