import { expect, it } from "vitest";
import { systemOfFile } from "./support/of-file.ts";
import { openLive, openPage } from "./support/watched-page.ts";

const system = systemOfFile({
  config: "workers:\n  - name: svc-state\n  - name: svc-http\n",
  consoleArgs: ["--enable-flow"],
});

it.each([
  "/",
  "/workers",
  "/functions",
  "/triggers",
  "/states",
  "/streams",
  "/queues",
  "/traces",
  "/logs",
  "/flow",
  "/config?section=storage",
])("%s makes no calls to modules that are not configured", async (path) => {
  const asked: string[] = [];
  const { page } = await openPage("about:blank");
  page.on("response", (response) => {
    if (response.status() >= 400) asked.push(`${response.status()} ${response.request().postData() ?? response.url()}`);
  });
  await page.goto(`${system.console.url}${path}`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.waitForLoadState("networkidle");
  expect(asked).toEqual([]);
});

it("a page names the module that it needs", async () => {
  const { page } = await openLive(`${system.console.url}/queues`);
  await page.getByText("svc-queue").first().waitFor();
});
