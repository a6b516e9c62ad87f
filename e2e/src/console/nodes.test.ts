import { expect, it } from "vitest";
import { systemOfFile } from "./support/of-file.ts";
import { openLive } from "./support/watched-page.ts";

const system = systemOfFile();

it("lists an engine that is alone, with its address and workers", async () => {
  const worker = await system.worker("shop");
  const { page } = await openLive(`${system.console.url}/nodes`);
  const row = page.getByRole("grid", { name: "Nodes" }).getByRole("row").filter({ hasText: "This engine" });
  await row.getByText("Up").waitFor();
  await row.getByText(`ws://localhost:${system.ports.bridge}`).waitFor();
  // Its worker.
  await row.getByRole("gridcell", { name: "1", exact: true }).first().waitFor();

  await page.getByRole("searchbox", { name: "Search nodes" }).fill("elsewhere");
  await page.getByText("No node matches “elsewhere”.").waitFor();
  expect(await row.count()).toBe(0);
  await worker.shutdown();
});
