import { afterAll, beforeAll, expect, it } from "vitest";
import { type ConsoleProcess, spawnConsole } from "./support/console-process.ts";
import { systemOfFile } from "./support/of-file.ts";
import { live, openLive } from "./support/watched-page.ts";

const system = systemOfFile();
let console: ConsoleProcess;

beforeAll(async () => {
  console = await spawnConsole({ engine: system.ports });
});

afterAll(async () => {
  await console?.stop();
});

it("reconnects after the console was restarted, and keeps what was typed", async () => {
  // Browser messages from the time without a console.
  const expected = [/Failed to load resource|WebSocket connection/];
  const { page } = await openLive(`${console.url}/workers`, { expected });
  const search = page.getByRole("searchbox");
  await search.fill("order");
  const port = Number(new URL(console.url).port);
  await console.stop("SIGKILL");
  await page.getByText("Live", { exact: true }).waitFor({ state: "hidden" });
  console = await spawnConsole({ engine: system.ports, port });
  await live(page);
  await system.worker("orders");
  await page.getByRole("row").filter({ hasText: "orders" }).waitFor();
  expect(await search.inputValue()).toBe("order");
});
