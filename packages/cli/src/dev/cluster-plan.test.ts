import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CommandFailure } from "../exit-codes.ts";
import { type ClusterPlan, type GivenPorts, planCluster } from "./cluster-plan.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-plan-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

async function plan(text: string, given: GivenPorts = {}): Promise<ClusterPlan> {
  const configFile = join(dir, "config.yaml");
  writeFileSync(configFile, text);
  const planned = await planCluster({ env: {}, cwd: dir }, { configFile, count: 3, given });
  planned.release();
  return planned;
}

describe("the ports of a cluster's engines", () => {
  const text = `engine: {bridge: {port: 21010}, bridges: [{port: 21030}]}
workers:
  - {name: svc-http, config: {port: 21020}}
  - {name: svc-stream, config: {port: 21040}}
`;

  it("are those of the file for the first, and others for the others", async () => {
    const { nodes } = await plan(text);

    expect(nodes[0]?.ports).toEqual({});
    const others = nodes.slice(1).flatMap(({ ports }) => [ports.bridge ?? 0, ports.http ?? 0, ports.realtime ?? 0]);
    expect(new Set([21_010, 21_020, 21_030, 21_040, ...others]).size).toBe(10);
    for (const port of others) expect(port).toBeGreaterThan(21_010);
    for (const port of others) expect(port).toBeLessThanOrEqual(21_240);
  });

  it("are those of the command line before those of the file, and any free ones for 0", async () => {
    const { nodes } = await plan(text, { bridge: 21_050, http: 0 });

    expect(nodes[0]?.ports).toEqual({ bridge: 21_050, http: 0 });
    expect(nodes[1]?.ports.bridge).toBeGreaterThan(21_050);
    expect(nodes[1]?.ports.http).toBe(0);
  });

  it("cannot be chosen for an invalid file", async () => {
    await expect(plan("engine: {bridge: {port: many}}\n")).rejects.toThrow(CommandFailure);
    // The folder is free again.
    await expect(plan("workers: []\n")).resolves.toMatchObject({
      nodes: [{ name: "a" }, { name: "b" }, { name: "c" }],
    });
  });
});
