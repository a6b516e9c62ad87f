import { expect, it } from "vitest";
import { systemOfFile } from "./support/of-file.ts";
import { openLive, openPage } from "./support/watched-page.ts";

const system = systemOfFile({ config: "workers:\n  - name: svc-state\n  - name: svc-http\n", consoleArgs: ["--enable-flow"] });

it.each(["/", "/workers", "/functions", "/triggers", "/states", "/streams", "/queues", "/traces", "/logs", "/flow", "/config?section=storage"])(
  "%s asks nothing of modules that are not there, so that nothing fails in the browser or in the engine",
  async (path) => {
    const asked: string[] = [];
    const { page } = await openPage("about:blank");
    page.on("response", (response) => {
      if (response.status() >= 400) asked.push(`${response.status()} ${response.request().postData() ?? response.url()}`);
    });
    await page.goto(`${system.console.url}${path}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.waitForLoadState("networkidle");
    expect(asked).toEqual([]);
  },
);

it("says that the module is not in the config where a page is about it", async () => {
  const { page } = await openLive(`${system.console.url}/queues`);
  await page.getByText("svc-queue").first().waitFor();
});
