import { appendFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { type PrintedResult, runSeeds, violationsOf } from "@svc-runtime/engine/testing";
import { expect, it } from "vitest";
import { faultsFolder } from "./disks.ts";
import { checkedByPorcupine } from "./porcupine.ts";
import { amount, figure } from "./runs.ts";

const SEEDS = amount(10_000, 100);
/** Seeds that one process runs. It keeps about 3 MB of each. */
const RANGE = 500;

it("engines on one log keep every invariant in 10,000 seeds, and Porcupine finds their histories linearizable (G11)", async () => {
  const file = join(faultsFolder("simulation"), "results.jsonl");
  const onResult = (result: unknown): void => appendFileSync(file, `${JSON.stringify(result)}\n`);
  const results: PrintedResult[] = [];
  let next = 1;
  const runRanges = async (): Promise<void> => {
    while (next <= SEEDS) {
      const first = next;
      next += RANGE;
      const range = `${first}-${Math.min(SEEDS, next - 1)}`;
      results.push(...(await runSeeds(range, { withHistory: true, onResult })));
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, runRanges));
  expect(violationsOf(results)).toEqual([]);
  expect(results).toHaveLength(SEEDS);
  const { histories, ...others } = await checkedByPorcupine(file);
  expect(others).toEqual({ illegal: [], undecided: [] });
  figure(`${SEEDS} seeds of the cluster's simulation`, `0 violations; Porcupine: ${histories} linearizable histories`);
  // Porcupine would have found a read of an old value.
  const [one] = results.filter(({ operations = [] }) => operations.length > 20);
  const stale = join(faultsFolder("simulation"), "stale.jsonl");
  const operations = one?.operations?.map((operation) =>
    operation.kind === "get" && operation.outcome?.status === "ok"
      ? { ...operation, outcome: { status: "ok", output: { value: { n: 0, by: -1 } } } }
      : operation,
  );
  appendFileSync(stale, `${JSON.stringify({ ...one, operations })}\n`);
  const { illegal } = await checkedByPorcupine(stale);
  expect(illegal).toContainEqual({ seed: one?.seed, key: expect.any(String) });
});
