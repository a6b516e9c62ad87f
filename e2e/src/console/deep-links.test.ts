import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { everyParameter, namedDeepLinks } from "./support/deep-links.ts";
import { type RunningSystem, startSystem } from "./support/running-system.ts";
import { live, openPage } from "./support/watched-page.ts";

let system: RunningSystem;
let browser: Browser;

beforeAll(async () => {
  system = await startSystem();
  browser = await startBrowser();
  const worker = await system.worker("reader");
  const other = await system.worker("writer");
  worker.registerFunction("books::read", () => 1);
  worker.registerFunction("books::burn", () => {
    throw new Error("books do not burn");
  });
  other.registerFunction("notes::write", () => 1);
  const triggers = [
    worker.registerTrigger({ type: "http", function_id: "books::read", config: { api_path: "/books", http_method: "GET" } }),
    worker.registerTrigger({ type: "cron", function_id: "books::read", config: { expression: "0 0 5 1 1 *" } }),
    worker.registerTrigger({ type: "durable:subscriber", function_id: "books::read", config: { topic: "audit" } }),
    other.registerTrigger({ type: "durable:subscriber", function_id: "notes::write", config: { topic: "billing" } }),
  ];
  await Promise.all(triggers.map(({ registered }) => registered));
  await worker.call({ function_id: "books::read" });
  await worker.call({ function_id: "books::burn" }).catch(() => undefined);
  await worker.call({ function_id: "notes::write" });
  for (const scope of ["shelves", "cellar"]) {
    for (const key of ["top", "bottom"]) await worker.call({ function_id: "state::set", payload: { scope, key, value: 1 } });
  }
  for (const [level, service_name] of [
    ["info", "shop"],
    ["error", "api"],
  ]) {
    await worker.call({
      function_id: `engine::log::${level}`,
      payload: { message: `a line of ${service_name}`, service_name, data: { floor: level === "error" ? 2 : 1 } },
    });
  }
});

afterAll(async () => {
  await browser?.close();
  await system?.stop();
});

const content = (page: Page) => page.locator("#content");
const row = (page: Page, text: string) => content(page).getByRole("row").filter({ hasText: text });
const now = Date.now();

/** Path and query; texts of the rows that are there, and of those that are not. */
type Link = readonly [address: string, shown: readonly string[], hidden: readonly string[]];

const LINKS: readonly Link[] = [
  ["/workers?q=reader", ["reader"], ["writer"]],
  ["/workers?status=connected", ["reader", "writer"], ["svc-state"]],
  ["/workers?runtime=node", ["reader"], ["svc-state"]],
  ["/workers?system=true", ["reader", "svc-state"], []],
  ["/workers?sort=functions&dir=desc", ["reader", "writer"], []],
  ["/functions?q=books", ["books::read"], ["notes::write"]],
  ["/functions?worker=writer", ["notes::write"], ["books::read"]],
  ["/functions?system=true&q=state%3A%3Aget", ["state::get"], ["books::read"]],
  ["/functions?group=worker", ["books::read", "notes::write"], []],
  ["/functions/books::burn?tab=history&status=error", ["books::burn"], []],
  ["/triggers?q=billing", ["billing"], ["/books"]],
  ["/triggers?type=http", ["/books"], ["billing"]],
  ["/triggers?type=cron", ["books::read"], ["billing", "/books"]],
  ["/triggers?type=queue", ["billing", "audit"], ["/books"]],
  ["/triggers?system=true", ["/books"], []],
  ["/states?gq=shel", ["shelves"], ["cellar"]],
  ["/states?system=true", ["shelves", "cellar"], []],
  ["/states/shelves?q=to", ["top"], ["bottom"]],
  ["/states/shelves?size=50", ["top", "bottom"], []],
  ["/queues?q=audit", ["audit"], ["billing"]],
  ["/traces?q=burn", ["books::burn"], ["books::read", "notes::write"]],
  ["/traces?status=error", ["books::burn"], ["books::read", "notes::write"]],
  ["/traces?status=ok", ["books::read", "notes::write"], ["books::burn"]],
  ["/traces?service=writer", ["notes::write"], ["books::read"]],
  ["/traces?fn=books%3A%3Aread", ["books::read"], ["notes::write"]],
  ["/traces?min=0&max=60000", ["books::read"], []],
  ["/traces?range=1h", ["books::read"], []],
  [`/traces?from=${now - 3_600_000}&to=${now + 3_600_000}`, ["books::read"], []],
  ["/traces?sort=duration&dir=asc", ["books::read"], []],
  ["/traces?system=true&q=books", ["books::read"], []],
  ["/logs?q=%22line%20of%20shop%22", ["a line of shop"], ["a line of api"]],
  ["/logs?level=%5B%22ERROR%22%5D", ["a line of api"], ["a line of shop"]],
  ["/logs?source=%5B%22shop%22%5D", ["a line of shop"], ["a line of api"]],
  ["/logs?not=%5B%22shop%22%5D", ["a line of api"], ["a line of shop"]],
  ["/logs?attr=%5B%22floor%3Agte%3A2%22%5D", ["a line of api"], ["a line of shop"]],
  ["/logs?range=1h", ["a line of shop", "a line of api"], []],
  [`/logs?from=${now - 3_600_000}&to=${now + 3_600_000}`, ["a line of shop"], []],
  ["/logs?wrap=true", ["a line of shop"], []],
  ["/logs?cols=%5B%22time%22%2C%22message%22%5D", ["a line of shop"], []],
];

/** What the addresses of `LINKS` name, as `page.key`. */
function linkedParameters(): string[] {
  return LINKS.flatMap(([address]) => {
    const { pathname, searchParams } = new URL(address, "http://x");
    const page = pathname.split("/")[1];
    return [...searchParams.keys()].map((key) => `${page === "" ? "dashboard" : page}.${key}`);
  });
}

/** Parameters whose test is still to be written. */
const UNTESTED: readonly string[] = [
  "dashboard.range",
  "dashboard.view",
  "workers.tab",
  "functions.inv",
  "functions.source",
  "triggers.tab",
  "states.cursor",
  "states.tab",
  "streams.q",
  "streams.dir",
  "streams.stream",
  "streams.group",
  "streams.type",
  "streams.system",
  "streams.events",
  "streams.sub",
  "queues.tab",
  "queues.job",
  "traces.op",
  "traces.attr",
  "traces.trigger",
  "traces.group",
  "traces.view",
  "traces.tab",
  "traces.compare",
  "traces.span",
  "traces.errors",
  "traces.least",
  "traces.part",
  "traces.critical",
  "logs.trace",
  "logs.span",
  "logs.worker",
  "logs.fn",
  "logs.group",
  "logs.off",
  "flow.focus",
  "flow.hops",
  "flow.q",
  "flow.range",
  "flow.system",
  "flow.dir",
  "flow.view",
  "flow.layers",
  "config.section",
  "config.q",
  "config.changed",
];

it("has a test for every parameter that a page keeps in its address, and for no other", async () => {
  const tested = new Set([...linkedParameters(), ...namedDeepLinks()]);
  const every = await everyParameter();
  expect(every.filter((parameter) => !tested.has(parameter))).toEqual(UNTESTED);
  expect([...tested].filter((parameter) => !every.includes(parameter))).toEqual([]);
});

it.each(LINKS)("%s shows what it says, and still does after a reload", async (address, shown, hidden) => {
  const { page } = await openPage(browser, `${system.console.url}${address}`);
  const check = async (): Promise<void> => {
    await live(page);
    for (const text of shown) await row(page, text).first().waitFor();
    for (const text of hidden) await expect.poll(() => row(page, text).count(), { message: text }).toBe(0);
    expect(await page.getByText("left out").count()).toBe(0);
  };
  await check();
  const parameters = [...new URL(page.url()).searchParams.keys()].sort();
  expect(parameters).toEqual([...new URL(address, "http://x").searchParams.keys()].sort());
  await page.reload();
  await check();
  expect([...new URL(page.url()).searchParams.keys()].sort()).toEqual(parameters);
});

describe("the Streams page", () => {
  it.each([
    ["q=hello", () => ["searchbox", "Search messages, or /regular expression/", "hello"] as const],
    ["system=true", () => ["checkbox", "System streams", "on"] as const],
    ["events=true", () => ["checkbox", "Connection events", "on"] as const],
    ["stream=chat", () => ["combobox", "Stream", "chat"] as const],
    ["group=room", () => ["combobox", "Group", "room"] as const],
    ["type=sync", () => ["combobox", "Type", "sync"] as const],
  ])("?%s sets the control, and still does after a reload", async (query, control) => {
    const [role, name, value] = control();
    const { page } = await openPage(browser, `${system.console.url}/streams?${query}`);
    for (const turn of ["opened", "reloaded"]) {
      if (turn === "reloaded") await page.reload();
      await live(page);
      const found = content(page).getByRole(role, { name, exact: true }).first();
      if (role === "checkbox") await expect.poll(() => found.isChecked()).toBe(true);
      else await expect.poll(() => found.inputValue()).toBe(value);
      expect(new URL(page.url()).search).toBe(`?${query}`);
    }
  });

  it("joins the groups of its address", async () => {
    const { page } = await openPage(browser, `${system.console.url}/streams?sub=%5B%22chat%3Aroom%22%5D&dir=outbound`);
    await page.getByLabel("Subscriptions").getByText("live").waitFor();
    await page.reload();
    await page.getByLabel("Subscriptions").getByText("live").waitFor();
  });
});

it.each([
  ["/workers", "reader", "writer"],
  ["/functions", "books::read", "notes::write"],
  ["/triggers", "/books", "billing"],
  ["/states/shelves", "top", "bottom"],
  ["/queues", "audit", "billing"],
  ["/logs", "a line of shop", "a line of api"],
] as const)("back and forward walk what was chosen on %s", async (path, first, second) => {
  const { page } = await openPage(browser, `${system.console.url}${path}`);
  await live(page);
  const choose = async (text: string): Promise<string> => {
    const before = page.url();
    await row(page, text).first().click();
    await page.waitForURL((url) => url.href !== before);
    return new URL(page.url()).pathname;
  };
  const one = await choose(first);
  const two = await choose(second);
  expect(two).not.toBe(one);
  for (const [step, pathname] of [
    ["back", one],
    ["back", path],
    ["forward", one],
    ["forward", two],
  ] as const) {
    await (step === "back" ? page.goBack() : page.goForward());
    await page.waitForURL((url) => url.pathname === pathname);
  }
  await row(page, second).first().waitFor();
});
