// A process that is the caller or the callee of calls between two processes. The callee returns its input. The caller
// measures windows when its parent process asks for them.
import { isDeepStrictEqual } from "node:util";
import { ClosedLoop } from "../generator/closed-loop.ts";
import type { Window } from "../generator/load.ts";
import { payloadOfBytes } from "../payloads.ts";
import type { Client, ClientArguments, WindowRequest } from "./client.ts";
import { connectMoleculer } from "./moleculer.ts";
import { connectPublished } from "./published.ts";
import { connectSvc } from "./svc.ts";

const FIRST_CALL_TIMEOUT_MS = 15_000;
const RETRY_MS = 50;

function connect(args: ClientArguments): Promise<Client> {
  switch (args.kind) {
    case "svc":
      return connectSvc(args);
    case "published":
      return connectPublished(args);
    case "moleculer-nats":
    case "moleculer-tcp":
      return connectMoleculer(args);
  }
}

/** Resolves when a call succeeds: both ends are connected and the function is registered. */
async function firstCall(client: Client): Promise<void> {
  const giveUpMs = performance.now() + FIRST_CALL_TIMEOUT_MS;
  const payload = { hello: ["there", 1] };
  for (;;) {
    try {
      const answer = await client.call(payload);
      if (!isDeepStrictEqual(answer, payload)) throw new Error(`the callee answered ${JSON.stringify(answer)}`);
      return;
    } catch (error) {
      if (performance.now() > giveUpMs)
        throw new Error(`no call succeeded: ${(error as Error).message}`, { cause: error });
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

function measure(client: Client, request: WindowRequest): Promise<Window> {
  const payload: unknown = JSON.parse(payloadOfBytes(request.payloadBytes));
  const loop = new ClosedLoop(request, request.concurrency, (slot) => {
    client.call(payload).then(
      () => loop.answered(slot),
      (error: Error) => loop.fail(error),
    );
  });
  loop.start();
  return loop.window;
}

const args = JSON.parse(process.argv[2] ?? "{}") as ClientArguments;
process.on("disconnect", () => process.exit(0));
process.on("SIGTERM", () => process.exit(0));
try {
  const client = await connect(args);
  if (args.role === "caller") await firstCall(client);
  process.on("message", (request: WindowRequest) => {
    measure(client, request).then(
      (window) => process.send?.({ window }),
      (error: Error) => process.send?.({ error: error.message }),
    );
  });
  process.send?.({});
} catch (error) {
  process.send?.({ error: (error as Error).message });
}
