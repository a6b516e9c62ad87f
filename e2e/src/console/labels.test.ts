import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import { systemOfFile } from "./support/of-file.ts";
import { checkEach, visit } from "./support/visit.ts";
import { openPage } from "./support/watched-page.ts";

const system = systemOfFile({ consoleArgs: ["--enable-flow"] });
const PATHS = [
  ...["/", "/workers", "/functions", "/triggers", "/states/s1", "/streams", "/queues", "/traces", "/logs"],
  ...["/metrics", "/query?q=error", "/flow", "/config"],
];
/** Texts that are the same in each language: data of this system, and words of the engine. */
const DATA: readonly RegExp[] = [
  /^(?:svc(?:-[a-z]+)*|f1.*|k1|m1|s1|w1|default|node|unknown|GET \/f1)$/,
  /^(?:http|ws):\/\/|^\w+::|^[0-9a-f]{16,}$/,
  /^\d{4}-\d\d-\d\dT|^\d+ [A-Z][a-z]{2} \d{4}, /,
  /^[\d.,]+ (?:B|KiB|MiB|d|h|min|ms|s|µs)\b/,
  /^(?:min|p\d\d|CSV|JSON|NDJSON|UTC|OK|DEBUG|INFO|WARN|ERROR)$|\(UTC\)$/,
  /^(?:\d · )?(?:cron|env|failing|file|flag|http|listening|number|off|ok|on|otlp http|queue|waiting|worker)(?:, http)?$/,
  // Features of the protocol.
  /^cancel, /,
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
 * Returns what the page shows outside of brackets, without code, keys and elements with data. A sentence with elements
 * is in several text nodes, so brackets are counted over all of them.
 */
function bareTexts(page: Page): Promise<readonly string[]> {
  return page.evaluate(`(() => {
    const found = [];
    let depth = 0;
    const add = (text) => {
      let bare = "";
      for (const letter of text) {
        if (letter === "⟦") depth++;
        else if (letter === "⟧") depth--;
        else if (depth === 0) bare += letter;
      }
      if (/\\p{L}/u.test(bare)) found.push(bare.trim());
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
  await worker.call({ function_id: "engine::log::info", payload: { message: "m1" } });
});

it("shows each label of a page in another language", async () => {
  const { page } = await openPage("about:blank");
  await useLanguage(page, bracketed());
  await page.goto(`${system.console.url}/?lang=xx`);
  await page.locator("nav").first().getByText("⟦").first().waitFor();
  await checkEach(
    PATHS,
    (path) => path,
    async (path) => {
      await visit(page, path);
      await page.locator("#content").getByText("⟦").first().waitFor();
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
