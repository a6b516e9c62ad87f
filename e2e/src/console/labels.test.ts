import { readFileSync } from "node:fs";
import type { Worker } from "@svc-runtime/sdk";
import type { Page } from "playwright-core";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import { systemOfFile } from "./support/of-file.ts";
import { checkEach, visit } from "./support/visit.ts";
import { loaded, openPage } from "./support/watched-page.ts";

const system = systemOfFile({ consoleArgs: ["--enable-flow"] });
/** Pages, each with a text that it shows once it has its data. */
const PAGES: readonly (readonly [path: string, shows: string])[] = [
  ["/", "f1::f1"],
  ["/?view=table", "f1::f1"],
  ["/workers", "w1"],
  ["/functions", "f1::f1"],
  ["/functions/f1::f1", "GET /f1"],
  ["/functions/f1::f1?tab=invoke", "⟦Invoke⟧"],
  ["/functions/f1::f1?tab=schema", "requestFormat"],
  ["/functions/f1::f1?tab=history", "w1"],
  ["/triggers", "/f1"],
  ["/states/s1", "k1"],
  ["/states/s1/k1", "⟦version 1⟧"],
  ["/streams", "c1"],
  ["/queues", "default"],
  ["/queues/default", "standard"],
  ["/queues/default?tab=enqueue", "⟦Enqueue⟧"],
  ["/traces", "f1::f1"],
  ["/logs", "m1"],
  ["/metrics", "svc.call.duration"],
  ["/metrics/svc.call.duration", "function_id=f1::f1"],
  ["/query?q=error", "m1"],
  ["/flow", "f1::f1"],
  ["/flow?view=list", "f1::f1"],
  ["/config?section=connectivity", "127.0.0.1"],
  ["/config?section=ports", "flag"],
  ["/config?section=telemetry", "otlp http"],
  ["/config?section=versions", "config.yaml"],
  ["/config?section=flags", "--enable-flow"],
  ["/config?section=settings", "max_value_bytes"],
  ["/config?section=modules", "config.yaml:2"],
  ["/config?section=health", "event loop"],
  ["/config?section=storage", "1 B"],
  ["/config?section=alerts", "a1"],
  ["/config?section=preferences", "⟦Stored in this browser⟧"],
];

/** Pages of what has an id, in the same form. */
async function pagesWithIds(worker: Worker): Promise<typeof PAGES> {
  const list = async <Item>(id: string, name: string): Promise<readonly Item[]> =>
    (await worker.call<Readonly<Record<string, readonly Item[]>>>({ function_id: id }))[name] ?? [];
  const spans = await list<{ readonly trace_id: string; readonly span_id: string; readonly name: string }>(
    "engine::traces::list",
    "spans",
  );
  const span = spans.find(({ name }) => name === "f1::f1");
  const trace = `/traces/${span?.trace_id}`;
  const workers = await list<{ readonly id: string; readonly name: string }>("engine::workers::list", "workers");
  const connected = `/workers/${workers.find(({ name }) => name === "w1")?.id}`;
  const logs = await list<{ readonly id: string; readonly body: string }>("engine::logs::list", "logs");
  const entry = `/logs/${logs.find(({ body }) => body === "m1")?.id}`;
  const triggers = await list<{ readonly id: string; readonly trigger_type: string }>(
    "engine::registered-triggers::list",
    "registered_triggers",
  );
  return [
    [connected, "linux"],
    [`${connected}?tab=metrics`, "⟦CPU⟧"],
    [`${connected}?tab=functions`, "f1::f1"],
    [`${connected}?tab=triggers`, "⟦Active⟧"],
    [`${connected}?tab=logs`, "m1"],
    [trace, "f1::f1"],
    [`${trace}?view=flame`, "f1::f1"],
    [`${trace}?view=services`, "w1"],
    [`${trace}?view=map`, "⟦1 span"],
    [`${trace}/${span?.span_id}`, "⟦Span name⟧"],
    [entry, "m1"],
    [`${entry}?tab=around`, "m1"],
    ...triggers.map(
      ({ id, trigger_type }) => [`/triggers/${id}`, trigger_type === "http" ? "⟦Query parameters⟧" : "(UTC)"] as const,
    ),
  ];
}

/** Texts that are the same in each language, besides what the page received. */
const DATA: readonly RegExp[] = [
  /^\d{4}-\d\d-\d\dT[\d:.]+Z$|^\d+ [A-Z][a-z]{2} \d{4}$/,
  /^(?:[\d.,]+ ?(?:B|KiB|MiB|d|h|min|ms|s|µs) ?)+$/,
  // Names of the engine that filters list: how a call was started, and levels.
  /^(?:call|cli|console|cron|event|http|queue|state|stream|DEBUG|ERROR|INFO|WARN)$/,
  // Percentiles, units, time zones, formats and methods.
  /^(?:p\d\d|UTC|CSV|NDJSON|OK|DELETE|HEAD|OPTIONS|PATCH|POST|PUT)$/,
  // Data of this test as pages join or shorten it.
  /^(?:f1|f1::f1:|GET \/f1|node 0\.1\.0|function_id=[\w:]+)$|^[0-9a-f]{8}-[0-9a-f]{3}$|^http:\/\/127\.0\.0\.1:\d+\/f1$/,
  // Names of the engine: its parts, components of its health, and a receiver. A type of JSON.
  /^(?:engine|adapters|disk|event loop|logs|metrics|otel|queues|spans|store|otlp http|number)$/,
  // The library that describes cron expressions knows one language.
  /^At 03:00(?:: 0 0 3 \* \* \*| \(0 0 3 \* \* \*\))?$|^0 0 3 \* \* \* \(UTC\)$/,
];

type Translation = string | Readonly<Record<string, string>>;
const english = JSON.parse(
  readFileSync(new URL("../../../packages/console/src/web/labels/en.json", import.meta.url), "utf8"),
) as Readonly<Record<string, Translation>>;

/** A catalogue in which each label is in brackets, except those that `without` names. */
function bracketed(without: readonly string[] = []): Readonly<Record<string, Translation>> {
  const inBrackets = (text: string): string => `⟦${text}⟧`;
  return Object.fromEntries(
    Object.entries(english)
      .filter(([key]) => !without.includes(key))
      .map(([key, text]) => [
        key,
        typeof text === "string"
          ? inBrackets(text)
          : Object.fromEntries(Object.entries(text).map(([category, form]) => [category, inBrackets(form)])),
      ]),
  );
}

async function useLanguage(page: Page, catalogue: Readonly<Record<string, Translation>>): Promise<void> {
  await page.route("**/labels/xx.json", (route) => route.fulfill({ json: catalogue }));
}

/**
 * Keeps each text in what the page receives, which is all JSON, as `receivedTexts`. Words for a status are not kept,
 * because pages must translate them.
 */
const RECORD_TEXTS = `{
  const parse = JSON.parse;
  globalThis.receivedTexts = new Set(Intl.supportedValuesOf("timeZone"));
  const isStatus = (name, value) => /^(?:state|status|health|durability)$/.test(name) && typeof value === "string";
  const add = (value) => {
    if (typeof value === "string") for (const text of [value, ...value.split("; ")]) receivedTexts.add(text.trim());
    else if (typeof value === "object" && value !== null)
      for (const [name, each] of Object.entries(value)) if (!isStatus(name, each)) add(each);
  };
  JSON.parse = (...args) => {
    const value = parse(...args);
    add(value);
    return value;
  };
}`;

/**
 * Returns what the page shows outside of brackets and has not received, without code, keys and elements with data. A
 * sentence with elements is in several text nodes, so brackets are counted over all of them.
 */
function bareTexts(page: Page): Promise<readonly string[]> {
  return page.evaluate(`(() => {
    const found = [];
    const hasLetter = (text) => /\\p{L}/u.test(text);
    const isReceived = (text) => receivedTexts.has(text);
    let depth = 0;
    const add = (text) => {
      let bare = "";
      for (const letter of text) {
        if (letter === "⟦") depth++;
        else if (letter === "⟧") depth--;
        else if (depth === 0) bare += letter;
      }
      bare = bare.trim();
      if (isReceived(bare)) return;
      // Some columns list several names, and how many there are.
      found.push(...bare.replace(/^\\d+ · /, "").split(", ").filter((part) => hasLetter(part) && !isReceived(part)));
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      if (node instanceof Text) {
        if (node.parentElement.closest("code, kbd, pre, script, style, noscript, .cm-editor, .font-mono") === null) add(node.data);
        continue;
      }
      const before = depth;
      depth = 0;
      for (const name of ["aria-label", "title", "placeholder", "alt"]) add(node.getAttribute(name) ?? "");
      depth = before;
    }
    return found;
  })()`) as Promise<readonly string[]>;
}

beforeAll(async () => {
  const worker = await system.worker("w1");
  worker.registerFunction("f1::f1", () => 1);
  worker.registerTrigger({ type: "http", function_id: "f1::f1", config: { api_path: "/f1", http_method: "GET" } });
  worker.registerTrigger({ type: "cron", function_id: "f1::f1", config: { expression: "0 0 3 * * *" } });
  await worker.call({ function_id: "f1::f1", payload: {} });
  await worker.call({ function_id: "state::set", payload: { scope: "s1", key: "k1", value: 1 } });
  await worker.call({
    function_id: "stream::set",
    payload: { stream_name: "c1", group_id: "g1", item_id: "i1", data: {} },
  });
  await worker.call({
    function_id: "engine::alerts::create",
    payload: { name: "a1", metric: "svc.calls", threshold: 10 },
  });
  await worker.call({ function_id: "engine::log::error", payload: { message: "m1" } });
});

it("shows each label of a page in another language", async () => {
  // The engine reads its metrics every few seconds.
  const worker = await system.worker("w2");
  await expect
    .poll(async () => JSON.stringify(await worker.call({ function_id: "engine::metrics::list" })))
    .toContain("svc.call.duration");
  const { page } = await openPage("about:blank");
  // The script cannot be removed from it.
  onTestFinished(() => page.close());
  await page.addInitScript(RECORD_TEXTS);
  await useLanguage(page, bracketed());
  await page.goto(`${system.console.url}/?lang=xx`);
  await page.locator("nav").first().getByText("⟦").first().waitFor();
  await checkEach(
    [...PAGES, ...(await pagesWithIds(worker))],
    ([path]) => path,
    async ([path, shows]) => {
      await visit(page, path);
      await page.locator("#content").getByText(shows).first().waitFor();
      await loaded(page);
      expect((await bareTexts(page)).filter((text) => !DATA.some((each) => each.test(text)))).toEqual([]);
    },
  );
  expect(await page.evaluate("document.documentElement.lang")).toBe("xx");
});

it("remembers the language, shows labels that it lacks in English, and returns to English", async () => {
  const { page } = await openPage("about:blank");
  await useLanguage(page, bracketed(["Queues"]));
  await page.goto(`${system.console.url}/workers?lang=xx&q=w1`);
  const pages = page.locator("nav").first();
  await pages.getByText("⟦Workers⟧", { exact: true }).waitFor();
  await pages.getByText("Queues", { exact: true }).waitFor();
  expect(new URL(page.url()).search).toBe("?q=w1");
  await page.goto(`${system.console.url}/workers`);
  await pages.getByText("⟦Workers⟧", { exact: true }).waitFor();
  await page.goto(`${system.console.url}/workers?lang=en`);
  await pages.getByText("Workers", { exact: true }).waitFor();
});

it("shows English for a language without a catalogue", async () => {
  const { page } = await openPage("about:blank", { expected: [/Failed to load resource/] });
  const answer = page.waitForResponse("**/labels/xx.json");
  await page.goto(`${system.console.url}/workers?lang=xx`);
  expect((await answer).status()).toBe(404);
  await page.locator("nav").getByText("Workers", { exact: true }).waitFor();
});
