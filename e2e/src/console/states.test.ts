import { readFileSync } from "node:fs";
import type { Worker } from "@svc/sdk";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { axeViolations } from "./support/axe.ts";
import { startConsole } from "./support/console-process.ts";
import { type RunningSystem, startSystem } from "./support/running-system.ts";
import { live, openPage, type PageOptions, widthOverflow } from "./support/watched-page.ts";

let system: RunningSystem;
let browser: Browser;
let worker: Worker;

beforeAll(async () => {
  system = await startSystem();
  browser = await startBrowser();
  worker = await system.worker("shop");
});

afterAll(async () => {
  await browser?.close();
  await system?.stop();
});

const set = (scope: string, key: string, value: unknown) => worker.call({ function_id: "state::set", payload: { scope, key, value } });
const get = (scope: string, key: string) => worker.call({ function_id: "state::get", payload: { scope, key } });
/** As text, to the digit: straight from the engine. */
async function raw(functionId: string, payload: string): Promise<string> {
  const response = await fetch(`http://localhost:${system.ports.http}/_console/invoke`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: `{"function_id":"${functionId}","payload":${payload}}`,
  });
  return response.text();
}

async function states(path: string, options: PageOptions = {}) {
  const opened = await openPage(browser, `${system.console.url}/states${path}`, options);
  await live(opened.page);
  return opened;
}

const row = (page: Page, text: string) => page.getByRole("row").filter({ hasText: text });
const editor = (page: Page) => page.getByRole("textbox", { name: /^Value of / });

/** The editor is loaded when it is needed first; until then its text stands there and cannot be changed. */
const ready = (page: Page) => page.locator(".cm-content").waitFor();

async function type(page: Page, text: string): Promise<void> {
  await ready(page);
  await editor(page).click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}

it("goes from the groups to an item, and back by the address", async () => {
  await set("users", "ada", { name: "Ada", password: "hunter2" });
  const { page, faults, close } = await states("");
  await page.getByText("No group is chosen").waitFor();
  await row(page, "users").click();
  await row(page, "ada").click();
  await page.getByRole("region", { name: "ada" }).getByText('"Ada"').waitFor();
  expect(new URL(page.url()).pathname).toBe("/states/users/ada");
  expect(await page.locator("body").textContent()).not.toContain("hunter2");
  await page.goBack();
  await page.getByRole("region", { name: "ada" }).waitFor({ state: "detached" });
  expect(await page.title()).toBe("States · users · svc");
  expect(faults).toEqual([]);
  await close();
});

it("adds an item, refuses the same key again, changes it after a look at the difference, deletes it and takes that back", async () => {
  const { page, faults, close } = await states("");
  await page.getByRole("button", { name: "Add item" }).click();
  await page.getByLabel("Group", { exact: true }).fill("made/here");
  await page.getByLabel("Key", { exact: true }).fill("first");
  await page.getByLabel("Text").fill("007");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByText('"007"').first().waitFor();
  expect(await get("made/here", "first")).toBe("007");

  await page.getByRole("button", { name: "Add item" }).click();
  await page.getByLabel("Key", { exact: true }).fill("first");
  await page.getByText("This key is there already.").waitFor();
  await expect.poll(() => page.getByRole("button", { name: "Add", exact: true }).isDisabled()).toBe(true);
  await page.keyboard.press("Escape");

  await page.getByRole("tab", { name: "Edit" }).click();
  await type(page, '{"n":9007199254740993}');
  await page.getByRole("button", { name: "Save …" }).click();
  await page.getByRole("dialog").getByText("9007199254740993").waitFor();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("version 2", { exact: true }).waitFor();
  expect(await raw("state::get", '{"scope":"made/here","key":"first"}')).toBe('{"n":9007199254740993}');

  await page.getByRole("button", { name: "Delete the item" }).click();
  const dialog = page.getByRole("dialog");
  expect(await dialog.textContent()).toMatch(/first[\s\S]*made\/here[\s\S]*9007199254740993/);
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByText("first is deleted").waitFor();
  expect(await get("made/here", "first")).toBe(null);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect.poll(() => raw("state::get", '{"scope":"made/here","key":"first"}')).toBe('{"n":9007199254740993}');
  expect(faults).toEqual([]);
  await close();
});

it("shows and opens again whatever key and value there can be", async () => {
  const odd = ["a/b", "c:d", "50%", "with space", "ünïcode ✓", "..", ".", "~tilde", "%2F", "q?x#y", "back\\slash", "<b>x</b>", "[]"];
  for (const key of odd) await set("odd / keys", key, `value of ${key}`);
  const values = [
    ["null", "null"],
    ["zero", "0"],
    ["empty", '""'],
    ["false", "false"],
    ["huge", "9007199254740993"],
    ["digits", "1.10"],
  ] as const;
  for (const [key, json] of values) await raw("state::set", `{"scope":"odd / keys","key":"${key}","value":${json}}`);
  const { page, faults, close } = await states("/odd%20%2F%20keys");
  for (const [key, shown] of [...odd.map((each) => [each, JSON.stringify(`value of ${each}`)] as const), ...values]) {
    await page.getByRole("grid", { name: "Items of odd / keys" }).getByTitle(key, { exact: true }).click();
    const detail = page.getByRole("region", { name: key, exact: true });
    await detail.getByText(shown, { exact: true }).last().waitFor();
    await page.reload();
    await detail.getByText(shown, { exact: true }).last().waitFor();
  }
  expect(faults).toEqual([]);
  await close();
});

describe("when two change one item", () => {
  async function conflict(base: unknown, mine: string, theirs: unknown) {
    await set("shared", "doc", base);
    const opened = await states("/shared/doc?tab=edit", { expected: [/409/] });
    const { page } = opened;
    await page.getByText(/^Based on version/).waitFor();
    await type(page, mine);
    await page.getByRole("button", { name: "Save …" }).click();
    await page.getByRole("dialog").waitFor();
    await set("shared", "doc", theirs);
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("heading", { name: "Changed by two" }).waitFor();
    return opened;
  }
  async function save(page: Page): Promise<void> {
    await page.getByRole("button", { name: "Save …" }).click();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("doc is saved").waitFor();
  }

  it("nothing is lost: both are shown against the base, and merged where they do not clash", async () => {
    const { page, faults, close } = await conflict({ a: 1, b: 1 }, '{"a":2,"b":1}', { a: 1, b: 2 });
    expect(await get("shared", "doc")).toEqual({ a: 1, b: 2 });
    await page.getByText("Merge joins both without a clash").waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole("button", { name: "Merge", exact: true }).click();
    await save(page);
    expect(await get("shared", "doc")).toEqual({ a: 2, b: 2 });
    expect(faults).toEqual([]);
    await close();
  });

  it("mine can be kept", async () => {
    const { page, close } = await conflict({ a: 1 }, '{"a":"mine"}', { a: "theirs" });
    await page.getByText("Both changed the same").waitFor();
    await page.getByRole("button", { name: "Keep mine" }).click();
    await save(page);
    expect(await get("shared", "doc")).toEqual({ a: "mine" });
    await close();
  });

  it("theirs can be taken", async () => {
    const { page, close } = await conflict({ a: 1 }, '{"a":"mine"}', { a: "theirs" });
    await page.getByRole("button", { name: "Take theirs" }).click();
    await expect.poll(() => editor(page).textContent()).toContain("theirs");
    expect(await page.getByRole("button", { name: "Save …" }).isDisabled()).toBe(true);
    expect(await get("shared", "doc")).toEqual({ a: "theirs" });
    await close();
  });
});

it("says that an open item was changed or deleted elsewhere, and lets it be put back", async () => {
  await set("watched", "x", { n: 1 });
  const { page, faults, close } = await states("/watched/x");
  await page.getByText("version 1", { exact: true }).waitFor();
  await set("watched", "x", { n: 2 });
  await page.getByText("Changed elsewhere: version 1 is now 2.").waitFor();
  await page.getByRole("button", { name: "View diff" }).click();
  await page.getByRole("textbox", { name: "What was changed elsewhere" }).waitFor();
  await worker.call({ function_id: "state::delete", payload: { scope: "watched", key: "x" } });
  await page.getByText("This item was deleted.").waitFor();
  await page.getByRole("button", { name: "Put it back" }).click();
  await expect.poll(() => get("watched", "x")).toEqual({ n: 2 });
  expect(faults).toEqual([]);
  await close();
});

it("does not let go of what was typed without asking", async () => {
  await set("guarded", "x", 1);
  const { page, faults, close } = await states("/guarded/x?tab=edit");
  await page.getByText("Based on version 1.").waitFor();
  await type(page, "2");
  await page.getByRole("link", { name: "Workers" }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  expect(new URL(page.url()).pathname).toBe("/states/guarded/x");
  expect(await editor(page).textContent()).toContain("2");
  await page.getByRole("link", { name: "Workers" }).click();
  await page.getByRole("button", { name: "Leave and forget it" }).click();
  await page.getByRole("heading", { level: 1, name: "Workers" }).waitFor();
  expect(faults).toEqual([]);
  await close();
});

it("pages through 50,000 items at the server, and searches there", async () => {
  for (let part = 0; part < 50; part++) {
    const items = Array.from({ length: 1_000 }, (_, at) => ({ scope: "many", key: `item-${String(part * 1_000 + at).padStart(5, "0")}`, value: at }));
    await worker.call({ function_id: "state::set_many", payload: { items } });
  }
  const { page, faults, close } = await states("/many?size=500");
  await page.getByText("50,000").first().waitFor();
  await row(page, "item-00000").waitFor();
  await page.getByRole("button", { name: "Next page" }).click();
  await row(page, "item-00500").waitFor();
  await page.reload();
  await row(page, "item-00500").waitFor();
  await page.getByRole("button", { name: "First page" }).click();
  await row(page, "item-00000").waitFor();
  await page.getByLabel("Keys that begin with").fill("item-4321");
  await row(page, "item-43219").waitFor();
  expect(new URL(page.url()).searchParams.get("q")).toBe("item-4321");
  expect(faults).toEqual([]);
  await close();
});

it("opens and edits a value of one megabyte", async () => {
  await set("large", "value", { text: "x".repeat(1_000_000) });
  const { page, faults, close } = await states("/large/value");
  await page.getByRole("button", { name: "Show it anyway" }).waitFor();
  await page.getByRole("tab", { name: "Edit" }).click();
  await editor(page).fill(JSON.stringify({ text: "y".repeat(1_000_000) }));
  await page.getByRole("button", { name: "Save …" }).click();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("version 2", { exact: true }).waitFor();
  expect(((await get("large", "value")) as { text: string }).text[0]).toBe("y");
  expect(faults).toEqual([]);
  await close();
});

it("deletes what is ticked, and a whole group once its name is typed", async () => {
  for (const key of ["a", "b", "c"]) await set("doomed", key, key);
  const { page, faults, close } = await states("/doomed");
  await page.getByLabel("Choose a", { exact: true }).check();
  await page.getByLabel("Choose b", { exact: true }).check();
  await page.getByRole("button", { name: "Delete 2 chosen" }).click();
  await page.getByLabel(/to confirm/).fill("doomed");
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("2 items deleted from doomed").waitFor();
  expect(await get("doomed", "a")).toBe(null);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect.poll(() => get("doomed", "a")).toBe("a");

  await page.getByRole("button", { name: "Delete group" }).click();
  const confirm = page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true });
  expect(await confirm.isDisabled()).toBe(true);
  await page.getByLabel(/to confirm/).fill("doomed");
  await confirm.click();
  await page.getByText("This group holds nothing").waitFor();
  expect(await get("doomed", "c")).toBe(null);
  expect(faults).toEqual([]);
  await close();
});

it("exports a group as lines, and imports lines after a report", async () => {
  await raw("state::set", '{"scope":"moved","key":"big","value":9007199254740993}');
  await set("moved", "same", 1);
  const { page, faults, close } = await states("/moved");
  await row(page, "big").waitFor();
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export group" }).click();
  const text = readFileSync(await (await saved).path(), "utf8");
  expect(text.trim().split("\n")).toHaveLength(2);
  expect(text).toContain('"value":9007199254740993');

  await raw("state::set", '{"scope":"moved","key":"big","value":1}');
  await page.getByRole("button", { name: "Import" }).click();
  const file = (content: string) => page.getByLabel("File").setInputFiles({ name: "a.ndjson", mimeType: "text/plain", buffer: Buffer.from(content) });
  await file(`${text}nonsense\n`);
  await page.getByText("line 3:").waitFor();
  await file(`${text}{"scope":"moved","key":"new","value":null}\n`);
  await page.getByText("Replace the 1 in conflict").waitFor();
  await page.getByRole("button", { name: "Store 1 item" }).waitFor();
  await page.getByLabel(/^Replace the 1/).check();
  await page.getByRole("button", { name: "Store 2 items" }).click();
  await page.getByText("2 of 2 stored.").waitFor();
  expect(await raw("state::get", '{"scope":"moved","key":"big"}')).toBe("9007199254740993");
  expect(faults).toEqual([]);
  await close();
});

it("hides the groups of the system until they are asked for", async () => {
  await set("__console", "layout", { x: 1 });
  const { page, close } = await states("");
  await row(page, "users").waitFor();
  expect(await row(page, "__console").count()).toBe(0);
  await page.getByRole("checkbox", { name: "System" }).check();
  await row(page, "__console").waitFor();
  expect(new URL(page.url()).searchParams.get("system")).toBe("true");
  await close();
});

it("keeps every view in its address, and drops what does not fit with a notice", async () => {
  const { page, close } = await states("/users/ada?gq=us&q=ad&size=50&system=true&tab=edit&sort=key");
  await editor(page).waitFor();
  expect(await page.getByLabel("Groups that begin with").inputValue()).toBe("us");
  expect(await page.getByLabel("Keys that begin with").inputValue()).toBe("ad");
  expect(await page.getByRole("combobox", { name: "Items a page" }).inputValue()).toBe("50");
  expect(await page.getByRole("checkbox", { name: "System" }).isChecked()).toBe(true);
  await page.getByText("left out").waitFor();
  await close();
});

it("can be used by the keyboard alone", async () => {
  await set("keys only", "one", { n: 1 });
  const { page, faults, close } = await states("?gq=keys");
  await row(page, "keys only").waitFor();
  await page.getByRole("grid", { name: "Groups" }).focus();
  await page.keyboard.press("ArrowDown");
  await row(page, "one").waitFor();
  await page.getByRole("grid", { name: "Items of keys only" }).focus();
  await page.keyboard.press("j");
  await page.getByRole("tab", { name: "Value" }).waitFor();
  await page.keyboard.press("]");
  await ready(page);
  await editor(page).focus();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText('{"n":2}');
  await page.keyboard.press("Control+s");
  await page.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("one is saved").waitFor();
  expect(await get("keys only", "one")).toEqual({ n: 2 });
  await page.getByRole("grid", { name: "Items of keys only" }).focus();
  await page.keyboard.press("Escape");
  await page.getByRole("region", { name: "one" }).waitFor({ state: "detached" });
  await page.keyboard.press("/");
  expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe("Keys that begin with");
  expect(faults).toEqual([]);
  await close();
});

it("tells loading, nothing, nothing that matches, and failure apart", async () => {
  const { page, close } = await states("/users?q=zzz");
  await page.getByText("No key begins with “zzz”.").waitFor();
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await row(page, "ada").waitFor();
  await page.goto(`${system.console.url}/states/nobody`);
  await page.getByText("This group holds nothing").waitFor();
  await page.goto(`${system.console.url}/states/users/nobody`);
  await page.getByText("There is no such item").waitFor();
  await close();

  const held = await openPage(browser, "about:blank", { expected: [/500/] });
  let answer: "hold" | "fail" = "hold";
  await held.page.route("**/api/call", async (route) => {
    if (answer === "hold") return;
    await route.fulfill({ status: 500, contentType: "application/json", body: '{"ok":false,"error":{"code":"storage_failed","message":"the disk is full"}}' });
  });
  await held.page.goto(`${system.console.url}/states`);
  await held.page.getByRole("status", { name: "Loading" }).waitFor();
  expect(await held.page.getByText("Nothing is stored").count()).toBe(0);
  answer = "fail";
  await held.page.reload();
  await held.page.getByText("the disk is full").waitFor();
  await held.page.getByText("state::groups failed").waitFor();
  await held.close();
});

it.each([
  ["light", 1440],
  ["dark", 1440],
  ["light", 390],
  ["dark", 390],
] as const)("is accessible and fits in the %s theme at %i pixels", async (theme, width) => {
  await set("users", "ada", { name: "Ada" });
  for (const path of ["", "/users", "/users/ada", "/users/ada?tab=edit"]) {
    const { page, faults, close } = await states(path, { theme, width });
    await (path === "" ? row(page, "users") : path === "/users" ? row(page, "ada") : page.getByRole("tab", { name: "Value" })).first().waitFor();
    if (path.includes("edit")) await ready(page);
    expect(await axeViolations(page)).toEqual([]);
    expect(await widthOverflow(page)).toBe(0);
    expect(faults).toEqual([]);
    await close();
  }
});

it("changes nothing in a console that is read-only, and reads all the same", async () => {
  const readOnly = await startConsole({ engine: system.ports, args: ["--read-only"] });
  const { page, faults, close } = await openPage(browser, `${readOnly.url}/states/users/ada?tab=edit`);
  await live(page);
  await type(page, "2");
  for (const name of ["Add item", "Import", "Delete group", "Delete the item", "Save …"]) {
    const button = page.getByRole("button", { name });
    expect(await button.isDisabled(), name).toBe(true);
    expect(await button.getAttribute("title")).toContain("read-only");
  }
  expect(faults).toEqual([]);
  await close();
  await readOnly.stop();
});

it("names the lines of the config that a missing module needs, and tells a failure from an empty answer", async () => {
  const bare = await startSystem({ config: "workers:\n  - name: svc-http\n" });
  const { page, close } = await openPage(browser, `${bare.console.url}/states/x/y`, { expected: [/404|503/] });
  await page.getByText("- name: svc-state").waitFor();
  await page.getByRole("link", { name: "Queues" }).click();
  await page.getByText("- name: svc-queue").waitFor();
  await bare.killEngine();
  await page.goto(`${bare.console.url}/states/x/y`);
  await page.getByText("state::get_entry failed").waitFor();
  await page.getByText("state::entries failed").waitFor();
  expect(await page.getByText("was deleted").count()).toBe(0);
  await close();
  await bare.stop();
});

it("keeps what it shows while the engine is away, changes nothing then, and goes on by itself", async () => {
  await set("users", "ada", { name: "Ada" });
  const { page, close } = await states("/users/ada", { expected: [/./] });
  const value = page.getByRole("region", { name: "ada" }).getByText('"Ada"');
  await value.waitFor();
  await system.killEngine();
  await expect.poll(() => page.getByRole("button", { name: "Add item" }).isDisabled(), { timeout: 20_000 }).toBe(true);
  expect(await page.getByRole("button", { name: "Add item" }).getAttribute("title")).toContain("cannot be reached");
  expect(await value.count()).toBe(1);
  await system.startEngine();
  await live(page);
  await set("users", "new one", 1);
  await row(page, "new one").waitFor({ timeout: 10_000 });
  await close();
});
