import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { newValue, newWrite, type Suite } from "./harness.ts";

export function closingTests(suite: Suite): void {
  it("writes a snapshot whole or not at all, and over nothing that is there", async () => {
    const folder = mkdtempSync(join(tmpdir(), "svc-items-snapshot-"));
    const file = join(folder, "a.snapshot");
    await suite.put("s", "k", '"é"');
    expect(await suite.store.snapshot(file)).toEqual({ bytes: statSync(file).size });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await expect(suite.store.snapshot(file)).rejects.toMatchObject({
      code: "storage_failed",
      message: expect.stringMatching(/a\.snapshot.*already exists/),
    });
    await expect(suite.store.snapshot(join(file, "below-a-file"))).rejects.toMatchObject({ code: "storage_failed" });
    expect(readdirSync(folder)).toEqual(["a.snapshot"]);
    rmSync(folder, { recursive: true });
  });

  it("refuses everything after it was closed", async () => {
    const { store } = suite;
    await store.close();
    const refused = { code: "draining" };
    await expect(store.get("s", "k")).rejects.toMatchObject(refused);
    await expect(store.set("s", "k", newValue("1"), newWrite())).rejects.toMatchObject(refused);
    await expect(store.delete("s", "k", newWrite())).rejects.toMatchObject(refused);
    await expect(store.scopes({ prefix: "" })).rejects.toMatchObject(refused);
    await expect(store.outbox.watchers()).rejects.toMatchObject(refused);
    await expect(store.snapshot("/never")).rejects.toMatchObject(refused);
  });
}
