import { connect, silentLogger, type Worker } from "@svc-runtime/sdk";
import { expect, it } from "vitest";
import { inMs } from "../cluster-load/outcomes.ts";
import { ClusterScene, NODES, within } from "./cluster-scene.ts";
import { faultsFolder } from "./disks.ts";
import { amount, figure } from "./runs.ts";
import { pause } from "./scene.ts";

const FUNCTIONS = amount(100, 10);
const LOOK_EVERY_MS = 5;

it(`${FUNCTIONS} functions that are registered at one engine are called and listed at the others (G10)`, async () => {
  const scene = await ClusterScene.open({ folder: faultsFolder("cluster-registration") });
  const workers: Worker[] = [];
  try {
    for (const name of NODES)
      workers.push(connect(scene.url(name), { name: `worker-${name}`, handleSignals: false, logger: silentLogger }));
    await Promise.all(workers.map((worker) => worker.connected()));
    const [a, b, c] = workers as [Worker, Worker, Worker];

    async function untilTrue(what: string, isTrue: () => Promise<boolean>): Promise<number> {
      const from = performance.now();
      const found = async (): Promise<void> => {
        while (!(await isTrue())) await pause(LOOK_EVERY_MS);
      };
      await within(30_000, what, found());
      return performance.now() - from;
    }

    const [called, listed]: [number[], number[]] = [[], []];
    for (let number = 0; number < FUNCTIONS; number++) {
      const id = `registered::${number}`;
      a.registerFunction(id, () => number);
      const isCalled = (): Promise<boolean> =>
        b.call({ function_id: id }).then(
          (answer) => answer === number,
          (error: { readonly code: string }) => {
            expect(error.code).toBe("function_not_found");
            return false;
          },
        );
      const isListed = async (): Promise<boolean> => {
        const { functions } = await c.call<{ functions: readonly { readonly function_id: string }[] }>({
          function_id: "engine::functions::list",
          payload: {},
        });
        return functions.some(({ function_id }) => function_id === id);
      };
      const [calledMs, listedMs] = await Promise.all([
        untilTrue("a call at another engine", isCalled),
        untilTrue("a listing at another engine", isListed),
      ]);
      called.push(calledMs);
      listed.push(listedMs);
    }
    figure(`${FUNCTIONS} functions registered at one engine, called at another`, `after ${inMs(called)}`);
    figure(`${FUNCTIONS} functions registered at one engine, listed at another`, `after ${inMs(listed)}`);
  } finally {
    await Promise.all(workers.map((worker) => worker.shutdown({ timeoutMs: 1_000 })));
    await scene.close();
  }
});
