import type { Worker } from "@svc-runtime/sdk";
import { controlWorker, listWorkers } from "../workers/worker-functions.ts";

export interface NamedEngine {
  readonly name: string;
  readonly engine: Pick<Worker, "call" | "connected">;
}

/** Restarts the local workers of the connected engines. Prints the names of engines that are not connected. */
export async function restartWorkers(engines: readonly NamedEngine[], note: (text: string) => void): Promise<void> {
  const areConnected = await Promise.all(
    engines.map(({ engine }) =>
      engine.connected({ timeoutMs: 0 }).then(
        () => true,
        () => false,
      ),
    ),
  );
  const away = engines.filter((_, index) => !areConnected[index]).map(({ name }) => name);
  if (away.length > 0) note(`Not connected, so its workers are not restarted: ${away.join(", ")}`);
  const listed = await Promise.all(
    engines
      .filter((_, index) => areConnected[index])
      .map(async ({ engine }) => {
        const workers = await listWorkers(engine);
        return workers.filter(({ kind }) => kind === "local").map(({ name }) => ({ name, engine }));
      }),
  );
  const workers = listed.flat();
  const names = [...new Set(workers.map(({ name }) => name))];
  note(names.length === 0 ? "There are no workers to restart." : `Restarting ${names.join(", ")}`);
  await Promise.all(workers.map(({ name, engine }) => controlWorker(engine, "restart", name)));
}
