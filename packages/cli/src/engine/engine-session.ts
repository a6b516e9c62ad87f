import { CallError } from "@svc-runtime/protocol";
import type { Worker } from "@svc-runtime/sdk";
import { CommandFailure } from "../exit-codes.ts";
import { sayNote } from "../terminal/notes.ts";
import { type EngineAddress, noEngine, requireListener } from "./engine-address.ts";
import { connectionRejected, type EngineRejection } from "./rejected-connection.ts";

const CONNECT_TIMEOUT_MS = 5000;

/**
 * Runs `action` on a connection to the engine, and closes the connection afterwards. If the address has several
 * engines, uses the first one that can be reached; `reached` is its address. Prints a note with `notes` if that is not
 * the first. Throws with exit 3 if no engine responds or the engine does not own the data folder, and with exit 1 if
 * the engine rejects the connection.
 */
export async function withEngine<Result>(
  address: EngineAddress,
  commandName: string,
  action: (worker: Worker, reached: EngineAddress) => Promise<Result>,
  notes?: Parameters<typeof sayNote>[0],
): Promise<Result> {
  const { reached, url, failure } = await firstResponding(address);
  if (failure !== undefined && notes !== undefined)
    sayNote(notes, `the engine at ${reached.shownUrl} is used instead of the first one: ${failure.message}`);
  // Imported lazily: running the engine does not need it.
  const { connect, silentLogger } = await import("@svc-runtime/sdk");
  const urls = [url, ...(reached.further ?? []).map((one) => one.url)];
  // The SDK must not log, because its errors are returned and the command prints them on standard error itself.
  const worker = connect(urls.join(","), {
    name: commandName,
    kind: "cli",
    handleSignals: false,
    logger: silentLogger,
    ...tokenHeader(reached),
    ...reconnectCheck(reached),
  });
  try {
    await connected(worker, reached);
    return await action(worker, reached);
  } finally {
    await worker.shutdown();
  }
}

/** Runs `action` on connections to all of the engines. Throws like `withEngine`. */
export function withEngines<Result>(
  addresses: readonly EngineAddress[],
  commandName: string,
  action: (engines: readonly Worker[]) => Promise<Result>,
): Promise<Result> {
  const [first, ...others] = addresses;
  if (first === undefined) return action([]);
  return withEngine(first, commandName, (engine) =>
    withEngines(others, commandName, (engines) => action([engine, ...engines])),
  );
}

/**
 * Returns the first of the engines that listens and gives its proof, the address to connect to, and what is wrong with
 * the engine before it. Throws what is wrong with the first one if none does.
 */
async function firstResponding(
  address: EngineAddress,
): Promise<{ readonly reached: EngineAddress; readonly url: string; readonly failure: CommandFailure | undefined }> {
  let failure: CommandFailure | undefined;
  for (const one of [address, ...(address.others ?? [])]) {
    try {
      const reached = await requireListener(one);
      return { reached, url: (await one.prove?.()) ?? reached.url, failure };
    } catch (error) {
      if (!(error instanceof CommandFailure)) throw error;
      failure ??= error;
    }
  }
  throw failure;
}

/** Returns the header with the token. Returns no header if SVC_TOKEN is set, because the SDK sends that token. */
function tokenHeader({ token }: EngineAddress): { readonly headers?: Readonly<Record<string, string>> } {
  const configured = process.env.SVC_TOKEN?.trim() ?? "";
  return token === undefined || configured !== "" ? {} : { headers: { authorization: `Bearer ${token}` } };
}

/**
 * Returns a check that requires the proof before each reconnect, because another process may have taken the port of a
 * stopped engine.
 */
function reconnectCheck({ prove }: EngineAddress): { readonly beforeConnect?: () => Promise<void> } {
  if (prove === undefined) return {};
  let isProven = true;
  return {
    beforeConnect: async () => {
      // No check before the first attempt, because the engine has given its proof just before.
      if (!isProven) await prove();
      isProven = false;
    },
  };
}

async function connected(worker: Worker, address: EngineAddress): Promise<void> {
  let stopListening = (): void => {};
  // Rejects at the first rejection by the engine, because the SDK would keep trying.
  const rejected = new Promise<never>((_, reject) => {
    stopListening = worker.onConnectionState((state) => {
      if (state !== "reconnecting") return;
      worker.connected({ timeoutMs: 0 }).catch((error: unknown) => {
        if (rejectionOf(error) !== undefined) reject(error as Error);
      });
    });
  });
  try {
    await Promise.race([worker.connected({ timeoutMs: CONNECT_TIMEOUT_MS }), rejected]);
  } catch (error) {
    const rejection = rejectionOf(error);
    if (rejection !== undefined) throw connectionRejected(address, rejection);
    throw noEngine(
      address,
      `something listens there, but it did not respond like an engine (${(error as Error).message})`,
    );
  } finally {
    stopListening();
  }
}

/** Returns how the engine rejected the connection, or undefined for other errors. */
function rejectionOf(error: unknown): EngineRejection | undefined {
  const details = CallError.is(error) ? error.details : undefined;
  if (typeof details?.status !== "number" || typeof details.engine_message !== "string") return undefined;
  return { status: details.status, message: details.engine_message };
}

const TRANSIENT: ReadonlySet<string> = new Set([
  "disconnected",
  "draining",
  "call_timeout",
  "function_not_found",
  "call_cancelled",
  "invocation_stopped",
]);

/** Returns true if the engine is disconnected, starting or stopping, so that a retry may succeed. */
export function isTransient(error: unknown): boolean {
  return CallError.is(error) && (error.retryable || TRANSIENT.has(error.code));
}
