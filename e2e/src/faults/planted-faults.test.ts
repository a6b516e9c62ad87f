import { PLANTED_FAULTS, runSeedsWithFault } from "@svc-runtime/engine/testing";
import { expect, it } from "vitest";
import { figure } from "./runs.ts";

/** Each fault is found by one of these seeds. */
const SEEDS = 1_000;

it.each(PLANTED_FAULTS)("the simulation finds a planted fault: $what", async ({ name, what }) => {
  const results = await runSeedsWithFault(`1-${SEEDS}`, name);
  const last = results.at(-1);
  expect(last?.violations.length).toBeGreaterThan(0);
  figure(`planted fault of the cluster: ${what}`, `found by seed ${last?.seed}: ${last?.violations[0]}`);
});
