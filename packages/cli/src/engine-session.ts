import { CallError } from "@svc/protocol";
import type { Worker } from "@svc/sdk";
import { type EngineAddress, noEngine, requireListener } from "./engine-address.ts";
import { type EngineRefusal, refusedByEngine } from "./refused-by-engine.ts";

const CONNECT_TIMEOUT_MS = 5000;

/**
 * Runs `action` on a connection to the engine and closes it afterwards. Fails with exit 3 when no engine answers, or another one than that of the data
 * folder, and with 1 when one refuses.
 */
export async function withEngine<Result>(address: EngineAddress, commandName: string, action: (worker: Worker) => Promise<Result>): Promise<Result> {
  await requireListener(address);
  // Loaded here and not above: the engine has no use for it.
  const { connect, silentLogger } = await import("@svc/sdk");
  const url = (await address.prove?.()) ?? address.url;
  // Silent: what goes wrong comes back as an error, and standard error belongs to the command.
  const worker = connect(url, {
    name: commandName,
    kind: "cli",
    handleSignals: false,
    logger: silentLogger,
    ...tokenHeader(address),
    ...reconnectCheck(address),
  });
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

/** The engine may end while a command runs, and another process take its port. */
function reconnectCheck({ prove }: EngineAddress): { readonly beforeConnect?: () => Promise<void> } {
  if (prove === undefined) return {};
  let isProven = true;
  return {
    beforeConnect: async () => {
      // It gave its proof just before the first attempt.
      if (!isProven) await prove();
      isProven = false;
    },
  };
}

async function connected(worker: Worker, address: EngineAddress): Promise<void> {
  let stopListening = (): void => {};
  // The first refusal is the answer; the SDK would go on trying.
  const refused = new Promise<never>((_, reject) => {
    stopListening = worker.onConnectionState((state) => {
      if (state !== "reconnecting") return;
      worker.connected({ timeout_ms: 0 }).catch((error: unknown) => {
        if (refusalOf(error) !== undefined) reject(error as Error);
      });
    });
  });
  try {
    await Promise.race([worker.connected({ timeout_ms: CONNECT_TIMEOUT_MS }), refused]);
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal !== undefined) throw refusedByEngine(address, refusal);
    throw noEngine(address, `something listens there, but it did not answer as an engine (${(error as Error).message})`);
  } finally {
    stopListening();
  }
}

/** Set where an engine answered, and said no. */
function refusalOf(error: unknown): EngineRefusal | undefined {
  const details = CallError.is(error) ? error.details : undefined;
  if (typeof details?.status !== "number" || typeof details.engine_message !== "string") return undefined;
  return { status: details.status, message: details.engine_message };
}
