import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { axeViolations } from "./support/axe.ts";
import { copiedBy } from "./support/clipboard.ts";
import { editor, ready, row, statesScene, type } from "./support/states-page.ts";

const scene = statesScene();
const { set, get, raw, states } = scene;

it("adds an item, rejects a duplicate key, changes the item after showing the diff, deletes it and undoes that", async () => {
  const { page } = await states("");
  await page.getByRole("button", { name: "Add item" }).click();
  await page.getByLabel("Group", { exact: true }).fill("made/here");
  await page.getByLabel("Key", { exact: true }).fill("first");
  await page.getByLabel("Text").fill("007");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByText('"007"').first().waitFor();
  expect(await get("made/here", "first")).toBe("007");

  await page.getByRole("button", { name: "Add item" }).click();
  await page.getByLabel("Key", { exact: true }).fill("first");
  await page.getByText("This key already exists.").waitFor();
  await expect.poll(() => page.getByRole("button", { name: "Add", exact: true }).isDisabled()).toBe(true);
  await page.keyboard.press("Escape");

  await page.getByRole("tab", { name: "Edit" }).click();
  await type(page, '{"n":9007199254740993}');
  await page.getByRole("button", { name: "Save …" }).click();
  await page.getByRole("dialog").getByText("9007199254740993").waitFor();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("version 2", { exact: true }).waitFor();
  expect(await raw("state::get", '{"scope":"made/here","key":"first"}')).toBe('{"n":9007199254740993}');

  // The editor shows what was saved, so that the next edit starts from there. The save can be undone.
  await page.getByText("Based on version 2.").waitFor();
  await expect.poll(() => editor(page).textContent()).toContain("9007199254740993");
  await page.getByRole("button", { name: "Save …" }).and(page.locator(":disabled")).waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("version 3", { exact: true }).waitFor();
  await expect.poll(() => editor(page).textContent()).toContain("007");
  expect(await page.getByText("Changed elsewhere").count()).toBe(0);
  await type(page, '{"n":9007199254740993}');
  await page.getByRole("button", { name: "Save …" }).click();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("version 4", { exact: true }).waitFor();
  expect(await raw("state::get", '{"scope":"made/here","key":"first"}')).toBe('{"n":9007199254740993}');

  await page.getByRole("button", { name: "Delete the item" }).click();
  const dialog = page.getByRole("dialog");
  expect(await dialog.textContent()).toMatch(/first[\s\S]*made\/here[\s\S]*9007199254740993/);
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByText("first is deleted").waitFor();
  expect(await get("made/here", "first")).toBe(null);
  await page.getByRole("button", { name: "Undo" }).last().click();
  await expect.poll(() => raw("state::get", '{"scope":"made/here","key":"first"}')).toBe('{"n":9007199254740993}');
});

describe("two concurrent edits of an item", () => {
  async function conflict(base: unknown, mine: string, theirs: unknown) {
    await set("shared", "doc", base);
    const opened = await states("/shared/doc?tab=edit", { expected: [/409/] });
    const { page } = opened;
    await page.getByText(/^Based on version/).waitFor();
    await type(page, mine);
    await page.getByRole("button", { name: "Save …" }).click();
    await page.getByRole("dialog").waitFor();
    await set("shared", "doc", theirs);
    // The page is drawn again when it gets the change. A click meanwhile may miss the button.
    await page.getByText(/^Changed elsewhere/).waitFor();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("heading", { name: "Edit conflict" }).waitFor();
    return opened;
  }
  async function save(page: Page): Promise<void> {
    await page.getByRole("button", { name: "Save …" }).click();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("doc is saved").waitFor();
  }

  it("are both shown against the base, and merged where they do not conflict", async () => {
    const { page } = await conflict({ a: 1, b: 1 }, '{"a":2,"b":1}', { a: 1, b: 2 });
    expect(await get("shared", "doc")).toEqual({ a: 1, b: 2 });
    await page.getByText("Merges without conflicts").waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole("button", { name: "Merge", exact: true }).click();
    await save(page);
    expect(await get("shared", "doc")).toEqual({ a: 2, b: 2 });
  });

  it("can be resolved with mine", async () => {
    const { page } = await conflict({ a: 1 }, '{"a":"mine"}', { a: "theirs" });
    await page.getByText("Conflicting changes").waitFor();
    await page.getByRole("button", { name: "Keep mine" }).click();
    await save(page);
    expect(await get("shared", "doc")).toEqual({ a: "mine" });
  });

  it("can be resolved with theirs", async () => {
    const { page } = await conflict({ a: 1 }, '{"a":"mine"}', { a: "theirs" });
    await page.getByRole("button", { name: "Take theirs" }).click();
    await expect.poll(() => editor(page).textContent()).toContain("theirs");
    await page.getByRole("button", { name: "Save …" }).and(page.locator(":disabled")).waitFor();
    expect(await get("shared", "doc")).toEqual({ a: "theirs" });
  });
});

it("shows that an open item was changed or deleted elsewhere, and restores it", async () => {
  await set("watched", "x", { n: 1 });
  const { page } = await states("/watched/x");
  await page.getByText("version 1", { exact: true }).waitFor();
  await set("watched", "x", { n: 2 });
  await page.getByText("Changed elsewhere: version 1 is now 2.").waitFor();
  await page.getByRole("button", { name: "View diff" }).click();
  await page.getByRole("textbox", { name: "Changes made elsewhere" }).waitFor();
  await scene.worker.call({ function_id: "state::delete", payload: { scope: "watched", key: "x" } });
  await page.getByText("This item was deleted.").waitFor();
  await page.getByRole("button", { name: "Restore" }).click();
  await expect.poll(() => get("watched", "x")).toEqual({ n: 2 });
});

it("asks before unsaved changes are lost", async () => {
  await set("guarded", "x", 1);
  const { page } = await states("/guarded/x?tab=edit");
  await page.getByText("Based on version 1.").waitFor();
  await type(page, "2");
  await page.getByRole("link", { name: "Workers" }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  expect(new URL(page.url()).pathname).toBe("/states/guarded/x");
  expect(await editor(page).textContent()).toContain("2");
  await page.getByRole("link", { name: "Workers" }).click();
  await page.getByRole("button", { name: "Leave and discard" }).click();
  await page.getByRole("heading", { level: 1, name: "Workers" }).waitFor();
});

it("opens and edits a value of one megabyte", async () => {
  await set("large", "value", { text: "x".repeat(1_000_000) });
  const { page } = await states("/large/value");
  await page.getByRole("button", { name: "Show it anyway" }).waitFor();
  await page.getByRole("tab", { name: "Edit" }).click();
  await editor(page).fill(JSON.stringify({ text: "y".repeat(1_000_000) }));
  await page.getByRole("button", { name: "Save …" }).click();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("version 2", { exact: true }).waitFor();
  // The next test may use this document, and must not see this message.
  await page.getByText("value is saved").waitFor();
  expect(((await get("large", "value")) as { text: string }).text[0]).toBe("y");
});

it("deletes selected items, and a whole group once its name is typed", async () => {
  for (const key of ["a", "b", "c"]) await set("doomed", key, key);
  const { page } = await states("/doomed");
  await page.getByLabel("Select a", { exact: true }).check();
  await page.getByLabel("Select b", { exact: true }).check();
  await page.getByRole("button", { name: "Delete 2 selected" }).click();
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
  await page.getByText("This group is empty").waitFor();
  expect(await get("doomed", "c")).toBe(null);
});

it("exports a group as NDJSON, and imports NDJSON after a report", async () => {
  await raw("state::set", '{"scope":"moved","key":"big","value":9007199254740993}');
  await set("moved", "same", 1);
  const { page } = await states("/moved");
  await row(page, "big").waitFor();
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export group" }).click();
  const text = readFileSync(await (await saved).path(), "utf8");
  expect(text.trim().split("\n")).toHaveLength(2);
  expect(text).toContain('"value":9007199254740993');

  await raw("state::set", '{"scope":"moved","key":"big","value":1}');
  await page.getByRole("button", { name: "Import" }).click();
  const file = (content: string) =>
    page.getByLabel("File").setInputFiles({ name: "a.ndjson", mimeType: "text/plain", buffer: Buffer.from(content) });
  await file(`${text}nonsense\n`);
  await page.getByText("line 3:").waitFor();
  await file(`${text}{"scope":"moved","key":"new","value":null}\n`);
  await page.getByText("Replace the 1 in conflict").waitFor();
  await page.getByRole("button", { name: "Store 1 item" }).waitFor();
  await page.getByLabel(/^Replace the 1/).check();
  await page.getByRole("button", { name: "Store 2 items" }).click();
  await page.getByText("2 of 2 stored.").waitFor();
  expect(await raw("state::get", '{"scope":"moved","key":"big"}')).toBe("9007199254740993");
});

it("masks secrets until revealed, also in the editor and in exports, and never stores a mask", async () => {
  const stored = { user: "ada", password: "hunter2", n: 1 };
  await set("kept safe", "login", stored);
  await set("kept safe", "api_key", "hunter3");
  const { page } = await states("/kept%20safe/login");
  const detail = page.getByRole("region", { name: "login", exact: true });
  await detail.getByText('"ada"').waitFor();
  const copied = await copiedBy(detail.getByRole("button", { name: "Copy login" }));
  expect(JSON.parse(copied)).toEqual({ user: "ada", password: "***", n: 1 });

  await page.getByRole("tab", { name: "Edit" }).click();
  await page.getByRole("button", { name: "Reveal and edit" }).waitFor();
  await set("kept safe", "login", { ...stored, password: "hunter4" });
  await page.getByText("Changed elsewhere").waitFor();
  await page.getByRole("button", { name: "View diff" }).click();
  await page.getByText("Only secrets differ.").waitFor();
  await page.getByRole("textbox", { name: "Changes made elsewhere" }).waitFor();
  expect(await page.locator("body").textContent()).not.toContain("hunter");

  expect(await axeViolations(page)).toEqual([]);
  await page.getByRole("button", { name: "Dismiss" }).click();

  await page.getByRole("button", { name: "Reveal and edit" }).click();
  await ready(page);
  await expect.poll(() => editor(page).textContent()).toContain("hunter4");
  await type(page, copied);
  await page.getByText("stands for a secret that was not revealed").waitFor();
  expect(await page.getByRole("button", { name: "Save …" }).isDisabled()).toBe(true);
  await page.keyboard.press("Control+s");
  expect(await page.getByRole("dialog").count()).toBe(0);
  await type(page, JSON.stringify({ ...stored, password: "hunter4", n: 2 }));
  await page.getByRole("button", { name: "Save …" }).click();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("login is saved").waitFor();
  expect(await get("kept safe", "login")).toEqual({ ...stored, password: "hunter4", n: 2 });
  await page.keyboard.press("Escape");

  for (const [name, isWhole] of [
    ["Export masked", false],
    ["Export with secrets", true],
  ] as const) {
    await page.getByRole("button", { name: "Export group" }).click();
    await page.getByText("2 of 2 items hold secrets.").waitFor();
    expect(await axeViolations(page)).toEqual([]);
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name }).click();
    const text = readFileSync(await (await saved).path(), "utf8");
    expect(text.includes("hunter4"), name).toBe(isWhole);
    expect(text.includes("hunter3"), name).toBe(isWhole);
    expect(text.trim().split("\n"), name).toHaveLength(2);
  }
});
