import { spawn } from "node:child_process";
import type { ClientArguments, ClientKind, WindowRequest } from "../clients/client.ts";
import type { Window } from "../generator/load.ts";
import { accepts, freePorts, pause } from "../ports.ts";
import { adopt, pidOf, RequestProcess, type Server, stopProcess } from "../processes.ts";

const START_TIMEOUT_MS = 30_000;
const WINDOW_GRACE_MS = 60_000;
const BROKER_TIMEOUT_MS = 10_000;

type CallerReply = { readonly window: Window } | { readonly error: string };

/** Two processes that use the same client: one calls, the other one answers. */
export interface ClientPair {
  /**
   * Measures one window. The observed processes are the server between the two clients, if there is one, then the
   * caller, then the callee.
   */
  measure(request: Omit<WindowRequest, "observe">): Promise<Window>;
  stop(): Promise<void>;
}

export interface PairOptions {
  readonly kind: ClientKind;
  readonly address: string;
  /** Path of the folder with the installed packages. An empty string for svc's client. */
  readonly packages: string;
  /** Ids of the processes of the server between caller and callee. */
  readonly between: readonly number[];
}

export async function startPair(options: PairOptions): Promise<ClientPair> {
  const [caller, callee] = (await freePorts(2)) as [number, number];
  const start = <Reply>(role: ClientArguments["role"]): Promise<RequestProcess<WindowRequest, Reply>> => {
    const args: ClientArguments = {
      kind: options.kind,
      role,
      address: options.address,
      packages: options.packages,
      ports: { caller, callee },
    };
    return RequestProcess.start("clients/main", [JSON.stringify(args)], { timeoutMs: START_TIMEOUT_MS });
  };
  const answering = await start<never>("callee");
  try {
    const calling = await start<CallerReply>("caller");
    const observe = [...options.between, calling.pid, answering.pid];
    return {
      async measure(request) {
        const reply = await calling.ask(
          { ...request, observe },
          request.warmUpMs + request.measureMs + WINDOW_GRACE_MS,
        );
        if ("error" in reply) throw new Error(`${options.kind}: ${reply.error}`);
        return reply.window;
      },
      async stop() {
        await Promise.all([calling.stop(), answering.stop()]);
      },
    };
  } catch (error) {
    await answering.stop();
    throw error;
  }
}

/** Starts NATS, the message broker between two Moleculer clients. `program`: path of its executable. */
export async function startNats(program: string): Promise<Server> {
  const [port] = (await freePorts(1)) as [number];
  const child = spawn(program, ["-a", "127.0.0.1", "-p", String(port)], { stdio: "ignore" });
  adopt(child);
  const giveUpMs = performance.now() + BROKER_TIMEOUT_MS;
  while (!(await accepts(port))) {
    if (performance.now() > giveUpMs) {
      await stopProcess(child);
      throw new Error(`${program} did not listen within ${BROKER_TIMEOUT_MS} ms`);
    }
    await pause(20);
  }
  return { pid: pidOf(child), port, stop: () => stopProcess(child) };
}
