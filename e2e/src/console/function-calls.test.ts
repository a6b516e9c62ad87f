import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Worker } from "@svc-runtime/sdk";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { copiedBy } from "./support/clipboard.ts";
import { pasteIntoEditor } from "./support/json-editor.ts";
import { systemOfFile } from "./support/of-file.ts";
import { visit } from "./support/visit.ts";
import { openLive, type PageOptions, type WatchedPage } from "./support/watched-page.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../..", import.meta.url));

const system = systemOfFile({ killable: true });
let worker: Worker;
/** Directory of a user's project with the SDKs, and `svc` on its path. */
let project: string;
/** Inputs of the calls of `calls::noted`. */
const noted: unknown[] = [];

beforeAll(async () => {
  worker = await system.worker("calls");
  worker.registerFunction("calls::echo", (input) => input);
  worker.registerFunction("calls::fail", () => Promise.reject(new TypeError("no stock")));
  worker.registerFunction("calls::noted", (input) => noted.push(input));
  project = mkdtempSync(join(tmpdir(), "svc-project-"));
  mkdirSync(join(project, "node_modules/@svc-runtime"), { recursive: true });
  symlinkSync(join(root, "packages/sdk"), join(project, "node_modules/@svc-runtime/sdk"));
  mkdirSync(join(project, "bin"));
  writeFileSync(
    join(project, "bin/svc"),
    `#!/bin/sh\nexec '${process.execPath}' '${join(root, "packages/cli/bin/svc.js")}' "$@"\n`,
  );
  chmodSync(join(project, "bin/svc"), 0o755);
});

afterAll(async () => {
  rmSync(project, { recursive: true, force: true });
});

const open = (path: string, options: PageOptions = {}): Promise<WatchedPage> =>
  openLive(`${system.console.url}${path}`, options);

const textOf = async (locator: Locator): Promise<string> => (await locator.textContent()) ?? "";
const result = (page: Page) => page.getByRole("region", { name: "Result" });
const invocations = (page: Page) => page.getByRole("grid", { name: "Invocations" });

/** Copies the call as `name`, runs it as a user would, and returns the output. */
async function runCopied(page: Page, name: string): Promise<string> {
  await page.getByRole("button", { name: "Copy as…" }).click();
  const section = page.getByRole("region", { name, exact: true });
  const text = await copiedBy(section.getByRole("button", { name: `Copy as ${name}` }));
  await page.keyboard.press("Escape");
  const env = {
    ...process.env,
    NO_COLOR: "1",
    PYTHONPATH: join(root, "python/src"),
    PATH: `${join(project, "bin")}${delimiter}${process.env.PATH ?? ""}`,
  };
  const commands: Readonly<Record<string, readonly [string, string]>> = {
    TypeScript: [process.execPath, "call.mjs"],
    Python: [join(root, ".venv/bin/python"), "call.py"],
  };
  const [command, file] = commands[name] ?? ["sh", "call.sh"];
  writeFileSync(join(project, file), text);
  return (await run(command, [file], { cwd: project, env, timeout: 60_000 })).stdout;
}

it.each(["curl", "CLI", "TypeScript", "Python"])(
  "copies a call as %s that makes the same call, with all digits",
  async (name) => {
    const { page } = await open("/functions/state::set?tab=invoke", { document: "any" });
    // State stores the input exactly. A handler in JavaScript would round the number.
    const value = `{"text":"it's $HOME \\"${name}\\"","n":9007199254740993,"none":null}`;
    await pasteIntoEditor(page, `{"scope":"copied","key":"${name}","value":${value}}`);
    expect(await runCopied(page, name)).toContain("9007199254740993");
    await visit(page, "/functions/state::get?tab=invoke");
    await pasteIntoEditor(page, `{"scope":"copied","key":"${name}"}`);
    await page.getByRole("button", { name: "Invoke", exact: true }).click();
    // The result of an earlier test is there until then.
    await expect.poll(() => textOf(result(page))).toContain(`it's $HOME \\"${name}\\"`);
    expect(await textOf(result(page))).toContain("9007199254740993");
  },
);

it.each([
  ["Fire and forget", "TypeScript"],
  ["Fire and forget", "Python"],
  ["Put on a queue", "CLI"],
  ["Put on a queue", "TypeScript"],
  ["Put on a queue", "Python"],
] as const)("copies a call in mode %s as %s", async (mode, name) => {
  const { page } = await open("/functions/calls::noted?tab=invoke", { document: "any" });
  await pasteIntoEditor(page, JSON.stringify({ mode, name }));
  await page.getByLabel("Mode").selectOption({ label: mode });
  await runCopied(page, name);
  await expect.poll(() => noted).toContainEqual({ mode, name });
});

it("shows past calls of all sources, compares a call with the previous one, and replays it", async () => {
  await worker.call({ function_id: "calls::echo", payload: { first: 1 } });
  await worker.call({ function_id: "calls::echo", payload: { second: 2 } });
  const { page } = await open("/functions/calls::echo?tab=history&source=call");
  await invocations(page).getByRole("row").nth(1).click();
  await page.waitForURL(/inv=/);
  await page.reload();
  await page.getByRole("button", { name: "Compare with previous" }).click();
  await page.getByRole("region", { name: "Comparison" }).getByText("$.second").first().waitFor();
  await page.getByRole("button", { name: "Replay", exact: true }).click();
  await result(page).getByText("OK", { exact: true }).waitFor();
  await expect.poll(() => textOf(result(page))).toContain('"second": 2');
  // The replay links to its original, and to the comparison of the two.
  const original = await result(page)
    .getByRole("link", { name: /^[0-9a-f-]{36}$/ })
    .getAttribute("href");
  await result(page).getByRole("link", { name: "Compare the two" }).click();
  const comparison = page.getByRole("region", { name: "Comparison" });
  await comparison.getByText(/^Original call/).waitFor();
  await comparison.getByText("Input: no differences").waitFor();
  expect(
    await page
      .getByRole("region", { name: "Invocation" })
      .getByRole("link", { name: /^[0-9a-f-]{36}$/ })
      .getAttribute("href"),
  ).toBe(original);
  // A replayed call is in the history with its own source.
  await visit(page, "/functions/calls::echo?tab=history&source=console");
  await invocations(page).getByRole("row").filter({ hasText: "console" }).first().waitFor();
  expect(await invocations(page).getByRole("gridcell", { name: "call", exact: true }).count()).toBe(0);
});

it("loads a past input into the editor, to be edited and sent", async () => {
  await worker.call({ function_id: "calls::noted", payload: { edited: false } });
  const { page } = await open("/functions/calls::noted?tab=history&source=call");
  await invocations(page).getByRole("row").nth(1).click();
  await page.getByRole("button", { name: "Edit & replay" }).click();
  await page.locator(".cm-content").getByText("edited").waitFor();
  await pasteIntoEditor(page, '{"edited":true}');
  await page.getByRole("button", { name: "Invoke", exact: true }).click();
  await result(page).getByText("OK", { exact: true }).waitFor();
  expect(noted).toContainEqual({ edited: true });
});

it("keeps the history's status in the URL, and shows the error of a failed call", async () => {
  await worker.call({ function_id: "calls::fail", payload: {} }).catch(() => undefined);
  const { page } = await open("/functions/calls::fail?tab=history&status=error");
  for (const turn of ["opened", "reloaded"]) {
    if (turn === "reloaded") await page.reload();
    await invocations(page).getByRole("row").nth(1).waitFor();
    expect(await page.getByRole("combobox", { name: /^Status/ }).inputValue()).toBe("error");
  }
  await invocations(page)
    .getByRole("row")
    .nth(1)
    .getByText(/no stock/)
    .waitFor();
  await invocations(page).getByRole("row").nth(1).click();
  await page.getByRole("region", { name: "Invocation" }).getByRole("alert").getByText("no stock").first().waitFor();
  await page.goBack();
  await page.getByRole("region", { name: "Invocation" }).waitFor({ state: "detached" });
  await page.goForward();
  await page.getByRole("region", { name: "Invocation" }).waitFor();
  await page.getByRole("combobox", { name: /^Status/ }).selectOption("ok");
  await page.getByText("No call has the status ok").waitFor();
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await invocations(page).getByRole("row").nth(1).waitFor();
});

it("freezes the list while it is paused, and counts changes", async () => {
  const { page } = await open("/functions?q=calls");
  const rows = page.getByRole("grid", { name: "Functions" });
  await rows.getByText("calls::echo").waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  const other = await system.worker("late");
  other.registerFunction("calls::late", () => 1);
  await page.getByRole("button", { name: "Resume (1)" }).waitFor();
  expect(await rows.getByText("calls::late").count()).toBe(0);
  await page.getByRole("button", { name: "Resume (1)" }).click();
  await rows.getByText("calls::late").waitFor();
  await other.shutdown();
});

it("replays a call that was made before the engine was restarted", async () => {
  await worker.call({ function_id: "calls::echo", payload: { made: "before the restart" } });
  const unwritten = async (): Promise<number> => {
    const { spans } = await worker.call<{ spans: { unwritten: number } }>({ function_id: "engine::telemetry::status" });
    return spans.unwritten;
  };
  await expect.poll(unwritten).toBe(0);
  await system.killEngine();
  await system.startEngine();
  await worker.connected();
  const { page } = await open("/functions/calls::echo?tab=history&source=call");
  await invocations(page).getByRole("row").nth(1).click();
  await page.getByRole("button", { name: "Replay", exact: true }).click();
  await result(page).getByText("OK", { exact: true }).waitFor();
  expect(await textOf(result(page))).toContain('"made": "before the restart"');
});
