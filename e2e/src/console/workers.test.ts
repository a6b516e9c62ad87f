import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { axeViolations, checkAccessibility } from "./support/axe.ts";
import { holdSocket } from "./support/held-socket.ts";
import { systemOfFile } from "./support/of-file.ts";
import { startSystem } from "./support/running-system.ts";
import { checkEach, visit } from "./support/visit.ts";
import { live, openLive, openPage } from "./support/watched-page.ts";

/** The start of a program that connects a worker named orders. */
const CONNECT = `import { connect } from ${JSON.stringify(new URL("../../../packages/sdk/dist/node.js", import.meta.url).href)};
const worker = connect({ name: "orders", handleSignals: false });
await worker.connected();
`;

const system = systemOfFile();

it("shows promptly, without a reload, that a worker connects and that it is killed", async ({ annotate }) => {
  const { page } = await openLive(`${system.console.url}/workers`);
  await page.getByText("No worker is connected").waitFor();
  const row = page.getByRole("row").filter({ hasText: "orders" });
  const child = spawn(process.execPath, ["--input-type=module", "--eval", `${CONNECT}console.log("connected");`], {
    env: { ...process.env, SVC_URL: `ws://localhost:${system.ports.bridge}` },
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  const connected = performance.now();
  await row.filter({ hasText: /Connected/ }).waitFor();
  const shownMs = performance.now() - connected;
  child.kill("SIGKILL");
  const killed = performance.now();
  await row.filter({ hasText: "Disconnected" }).waitFor();
  const goneMs = performance.now() - killed;
  await annotate(
    `connected on screen after ${Math.round(shownMs)} ms, killed after ${Math.round(goneMs)} ms`,
    "figures",
  );
  // Takes a second on an idle machine; this one may be busy.
  expect(shownMs).toBeLessThan(5_000);
  expect(goneMs).toBeLessThan(5_000);
  await row.click();
  await page.getByRole("tab", { name: "Events" }).click();
  await page.getByRole("tabpanel").getByText("Disconnected").waitFor();
});

it("distinguishes two workers with the same name, and shows what each provides", async () => {
  const [first, second] = await Promise.all([system.worker("twins"), system.worker("twins")]);
  first.registerFunction("twins::first", () => 1);
  second.registerFunction("twins::second", () => Promise.reject(new Error("always")));
  // A connection's own calls are read after its registrations.
  for (let call = 0; call < 3; call++) await first.call({ function_id: "twins::first" });
  await second.call({ function_id: "twins::second" }).catch(() => undefined);
  const { page } = await openPage(`${system.console.url}/workers?q=twins`);
  const rows = page.getByRole("row").filter({ hasText: "twins" });
  await rows.filter({ hasText: "×2" }).nth(1).waitFor();
  // Both run in this test's process and share its CPU and memory.
  await rows.filter({ hasText: "Shared process" }).nth(1).waitFor();
  // Each worker has the figures of the calls that it ran.
  const failing = rows.filter({ hasText: "100 %" });
  await failing.waitFor();
  await failing
    .getByTitle(/^1 of 1 calls failed in the last/)
    .first()
    .waitFor();
  await rows
    .getByTitle(/^0 of 3 calls failed in the last/)
    .first()
    .waitFor();
  await page.getByRole("columnheader", { name: "Errors" }).getByRole("button").click();
  await page.waitForURL(/sort=errors/);
  await rows.first().click();
  await page.getByRole("tab", { name: /Functions/ }).click();
  await page.getByRole("link", { name: /^twins::(?:first|second)$/ }).waitFor();
  expect(new URL(page.url()).searchParams.get("tab")).toBe("functions");
  await expect.poll(() => page.getByRole("link", { name: /^twins::/ }).count()).toBe(1);
  // The engine cannot restart a worker that it did not start, so there is no button.
  await page.getByRole("tab", { name: "Overview" }).click();
  await page.getByText("Not started by this engine").waitFor();
  await page.getByText("CPU and memory are those of the process").waitFor();
  expect(await page.getByRole("button", { name: "Restart" }).count()).toBe(0);
  await Promise.all([first.shutdown(), second.shutdown()]);
});

it("opens with the filters of its address", async () => {
  const worker = await system.worker("deep");
  const { page } = await openLive(`${system.console.url}/workers`);
  await checkEach(
    [
      ["q=svc-state&system=true", ["svc-state"], ["svc-http"]],
      ["system=true", ["svc-state", "svc-http"], []],
      ["runtime=node", ["deep"], ["svc-state"]],
      ["status=connected&system=true", ["deep"], ["svc-state"]],
      ["sort=functions&dir=desc", ["deep"], []],
    ] as const,
    ([query]) => query,
    async ([query, shown, hidden]) => {
      await visit(page, `/workers?${query}`);
      for (const name of shown) await page.getByRole("row").filter({ hasText: name }).waitFor();
      for (const name of hidden) expect(await page.getByRole("row").filter({ hasText: name }).count()).toBe(0);
    },
  );
  await worker.shutdown();
});

it("shows that the filters hide everything, and clears them", async () => {
  const worker = await system.worker("hidden");
  const { page } = await openPage(`${system.console.url}/workers?q=nothing-is-called-that`);
  await page.getByText("Nothing matches").waitFor();
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await page.getByRole("row").filter({ hasText: "hidden" }).waitFor();
  await worker.shutdown();
});

it("is usable with the keyboard alone: from the palette to a worker's detail and back", async () => {
  const worker = await system.worker("piano");
  const { page } = await openLive(`${system.console.url}/`);
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Command palette" }).waitFor();
  await page.keyboard.type("piano");
  await page.getByRole("option", { name: /piano.*node/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/workers\/.+/);
  await page.getByRole("tab", { name: "Overview" }).waitFor();
  await page.keyboard.press("]");
  await page.waitForURL(/tab=metrics/);
  await page.keyboard.press("Escape");
  await page.waitForURL(/\/workers(?:\?.*)?$/);
  await worker.shutdown();
});

it("keeps its content while the engine is down, and reports the outage and the restart", async () => {
  const own = await startSystem({ killable: true });
  const { page, close } = await openPage(`${own.console.url}/workers?system=true`, { expected: [/.*/] });
  await page.getByRole("row").filter({ hasText: "svc-state" }).waitFor();
  await own.killEngine();
  await page.getByRole("alert").filter({ hasText: "The engine cannot be reached" }).waitFor({ timeout: 20_000 });
  await expect.poll(() => page.getByRole("row").filter({ hasText: "svc-state" }).count()).toBe(1);
  await own.startEngine();
  await live(page);
  await page.getByText("The engine was restarted at").waitFor({ timeout: 20_000 });
  expect(new URL(page.url()).search).toBe("?system=true");
  await close();
  await own.stop();
});

it("restarts, stops and starts a configured worker, and follows its state until done", async () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-restarted-"));
  const sdk = new URL("../../../packages/sdk/dist/node.js", import.meta.url);
  const code = `import { connect } from ${JSON.stringify(sdk.href)};\nconnect().registerFunction("counter::pid", () => process.pid);\n`;
  writeFileSync(join(folder, "worker.mjs"), code);
  writeFileSync(
    join(folder, "svc.worker.yaml"),
    "name: counter\nruntime: {kind: node, entry: worker.mjs}\nscripts: {start: node worker.mjs}\n",
  );
  const own = await startSystem({ config: `workers:\n  - name: counter\n    path: ${folder}\n` });
  const caller = await own.worker("caller");
  const ready = () =>
    caller.call({ function_id: "worker::wait", payload: { name: "counter", timeout_ms: 60_000 }, timeoutMs: 70_000 });
  const pid = () => caller.call<number>({ function_id: "counter::pid", payload: {} });
  await ready();
  const before = await pid();
  const { page, close } = await openPage(`${own.console.url}/workers?q=counter`);
  await page.getByRole("row").filter({ hasText: "counter" }).first().click();
  await page.getByRole("button", { name: "Restart", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  expect(await pid()).toBe(before);
  await page.getByRole("button", { name: "Restart", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Restart counter" }).click();
  await page.getByText("counter is connected again").waitFor({ timeout: 60_000 });
  await ready();
  expect(await pid()).not.toBe(before);
  // A requested restart does not count as a restart after a crash.
  await page.locator("dt", { hasText: /^Restarts after a crash$/ }).waitFor();
  expect(await page.locator("dt:text-is('Restarts after a crash') + dd").textContent()).toBe("0");
  // State changes appear at once, without a reload or a call.
  const row = page.getByRole("row").filter({ hasText: "counter" });
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Stop counter" }).click();
  await page.getByText("counter is stopped").waitFor({ timeout: 60_000 });
  await row.filter({ hasText: "stopped" }).waitFor({ timeout: 60_000 });
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await row.filter({ hasText: /Connected/ }).waitFor({ timeout: 60_000 });
  await ready();
  await row.filter({ hasText: "stopped" }).waitFor({ state: "hidden" });
  await close();
  await own.stop();
  rmSync(folder, { recursive: true, force: true });
});

it("shows that a worker is not found, and leads back to the list by its heading", async () => {
  const worker = await system.worker("present");
  const { page } = await openPage(`${system.console.url}/workers/nope?q=present`);
  await page.getByText("Worker not found").waitFor();
  await page.getByRole("row").filter({ hasText: "present" }).click();
  const crumbs = page.getByRole("navigation", { name: "Breadcrumb" });
  await crumbs.getByText("present").waitFor();
  expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Workers");
  await crumbs.getByRole("link", { name: "Workers" }).click();
  await page.waitForURL((url) => url.pathname === "/workers" && url.search === "?q=present");
  await page.goBack();
  await crumbs.getByText("present").waitFor();
  await worker.shutdown();
});

it("freezes the list while it is paused, counts the changes, and resumes", async () => {
  const { page } = await openLive(`${system.console.url}/workers?q=late`);
  await page.getByRole("button", { name: "Pause" }).waitFor();
  await page.keyboard.press("p");
  await page.getByRole("button", { name: "Resume", exact: true }).waitFor();
  // Hidden by the filter, so it does not count.
  const other = await system.worker("another");
  const worker = await system.worker("late");
  await page.getByRole("button", { name: "Resume (1)" }).waitFor();
  expect(await page.getByRole("row").filter({ hasText: "late" }).count()).toBe(0);
  await page.getByRole("button", { name: "Resume (1)" }).click();
  await page.getByRole("row").filter({ hasText: "late" }).waitFor();
  await Promise.all([worker.shutdown(), other.shutdown()]);
});

it("loads the list even if it was paused before, and counts changes from there", async () => {
  const there = await system.worker("early");
  const { page } = await openPage("about:blank");
  const socket = await holdSocket(page);
  await page.goto(`${system.console.url}/workers`);
  await page.getByRole("button", { name: "Pause" }).waitFor();
  await page.keyboard.press("p");
  await page.getByRole("button", { name: "Resume", exact: true }).waitFor();
  socket.release();
  await page.getByRole("row").filter({ hasText: "early" }).waitFor();
  await page.getByRole("button", { name: "Resume", exact: true }).waitFor();
  await there.shutdown();
  await page.getByRole("button", { name: "Resume (1)" }).waitFor();
});

it("keeps tab, status and order in the address", async () => {
  const worker = await system.worker("tabs");
  worker.registerFunction("tabs::one", () => 1);
  const { page } = await openPage(`${system.console.url}/workers?q=tabs&status=connected&sort=since&dir=desc`);
  await page.getByRole("row").filter({ hasText: "tabs" }).click();
  await page.waitForURL(/\/workers\/[^?]+\?/);
  const { pathname } = new URL(page.url());
  for (const [tab, text] of [
    ["metrics", /No metrics from this worker|CPU/],
    ["functions", "tabs::one"],
    ["triggers", "No trigger calls a function"],
    ["logs", /No logs from this worker|lines, newest first/],
    ["events", "Events of all workers named tabs"],
  ] as const) {
    await visit(page, `${pathname}?q=tabs&status=connected&sort=since&dir=desc&tab=${tab}`);
    await page.getByRole("tabpanel").getByText(text).first().waitFor();
    expect(await axeViolations(page), tab).toEqual([]);
  }
  await page.reload();
  await page.getByRole("tab", { name: "Events", selected: true }).waitFor();
  await page.getByRole("button", { name: /^Connected 1/, pressed: true }).waitFor();
  expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
    q: "tabs",
    status: "connected",
    sort: "since",
    dir: "desc",
    tab: "events",
  });
  await worker.shutdown();
});

it("is accessible and fits the window in both themes, wide and narrow", async () => {
  const { page } = await openLive(`${system.console.url}/workers?system=true`);
  const row = page.getByRole("row").filter({ hasText: "svc-state" });
  await row.waitFor();
  await checkAccessibility(page, "the list", () => row.waitFor());
  await row.click();
  await checkAccessibility(page, "a module", () => page.getByText("A module of the engine").waitFor());
});
