import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { checkAccessibility } from "./support/axe.ts";
import { type Console, startConsole } from "./support/console-process.ts";
import { systemOfFile } from "./support/of-file.ts";
import { live, openPage } from "./support/watched-page.ts";

// The console of an engine in production: everyone has to log in, whatever token the console itself has.
const system = systemOfFile({
  config: "engine: {mode: production}\nworkers:\n  - name: svc-stream\n  - name: svc-state\n",
});
/** Browser messages about rejected requests. */
const expected = [/Failed to load resource|WebSocket connection/];
let token: string;
let console: Console;

beforeAll(async () => {
  token = readFileSync(join(system.folder, ".svc/token"), "utf8").trim();
  console = await started(0);
});
afterAll(async () => {
  await console?.stop();
});

/** Resolves when the console knows the mode of its engine. */
async function started(port: number): Promise<Console> {
  const one = await startConsole({ engine: system.ports, port, env: { SVC_TOKEN: token } });
  const page = async (): Promise<string> => (await fetch(one.url)).text();
  await vi.waitFor(async () => expect(await page()).toContain('svc-page-token" content=""'), {
    timeout: 20_000,
    interval: 50,
  });
  return one;
}

const form = (page: Page) => page.getByRole("heading", { name: "Log in to the svc console" });

async function logIn(page: Page): Promise<void> {
  await form(page).waitFor();
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Log in" }).click();
  await live(page);
}

it("asks for a token, rejects a wrong one, and then shows the address that was opened", async () => {
  const { page } = await openPage(`${console.url}/logs?level=error`, { expected, document: "new" });
  await form(page).waitFor();
  expect(await page.content()).not.toContain(token);
  await page.getByLabel("Token").and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("Enter a token.").waitFor();
  await page.keyboard.type("this-is-not-the-token");
  await page.keyboard.press("Enter");
  await page
    .getByRole("alert")
    .getByText("The login failed: the engine does not accept this token; tokens of roles work only on the listener")
    .waitFor();
  await page.keyboard.type(token);
  await page.keyboard.press("Enter");
  await live(page);
  await page.getByRole("heading", { level: 1, name: "Logs" }).waitFor();
  const shown = new URL(page.url());
  expect([shown.pathname, shown.searchParams.get("level")]).toEqual(["/logs", '["error"]']);
  expect(await page.context().cookies(console.url)).toEqual([]);
  await page.reload();
  await live(page);
  await page.getByRole("button", { name: "Log out" }).click();
  await form(page).waitFor();
  expect(await page.getByText("Your session has ended").count()).toBe(0);
  expect(await page.evaluate('sessionStorage.getItem("svc.session")')).toBeNull();
});

it("returns to the login when the session has ended, and then to the same address", async () => {
  const { page } = await openPage(`${console.url}/states`, { expected, document: "new" });
  await logIn(page);
  const port = Number(new URL(console.url).port);
  await console.stop();
  console = await started(port);
  await form(page).waitFor();
  await page.getByRole("status").getByText("Your session has ended. Log in again to continue.").waitFor();
  await logIn(page);
  await page.getByRole("heading", { level: 1, name: "States" }).waitFor();
  expect(new URL(page.url()).pathname).toBe("/states");
});

it("has a login that is accessible, in both themes", async () => {
  const { page } = await openPage(`${console.url}/`, { expected, document: "new" });
  await form(page).waitFor();
  await checkAccessibility(page, "the login");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("alert").getByText("Enter a token.").waitFor();
  await checkAccessibility(page, "the login after a mistake");
});
