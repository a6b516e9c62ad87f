import type { Worker } from "@svc/sdk";
import { type EngineAddress, noEngine, requireListener } from "./engine-address.ts";

const CONNECT_TIMEOUT_MS = 5000;

/** Runs `action` on a connection to the engine and closes it afterwards. Fails with exit 3 when no engine answers. */
export async function withEngine<Result>(address: EngineAddress, commandName: string, action: (worker: Worker) => Promise<Result>): Promise<Result> {
  await requireListener(address);
  // Loaded here and not above: the engine has no use for it.
  const { connect, silentLogger } = await import("@svc/sdk");
  // Silent: what goes wrong comes back as an error, and standard error belongs to the command.
  const worker = connect(address.url, { name: commandName, kind: "cli", handleSignals: false, logger: silentLogger, ...tokenHeader(address) });
  try {
    await connected(worker, address);
    return await action(worker);
  } finally {
    await worker.shutdown();
  }
}

/** Only where the SDK would not send one of its own accord. */
function tokenHeader({ token }: EngineAddress): { readonly headers?: Readonly<Record<string, string>> } {
  const configured = process.env.SVC_TOKEN?.trim() ?? "";
  return token === undefined || configured !== "" ? {} : { headers: { authorization: `Bearer ${token}` } };
}

async function connected(worker: Worker, address: EngineAddress): Promise<void> {
  try {
    await worker.connected({ timeout_ms: CONNECT_TIMEOUT_MS });
  } catch (error) {
    if (/\b401\b/.test((error as Error).message)) throw noEngine(address, "it wants its token, or another one than was sent: set SVC_TOKEN to it");
    throw noEngine(address, `something listens there, but it did not answer as an engine (${(error as Error).message})`);
  }
}
