import type { InMemoryWorker } from "../../../../testing/in-memory-engine.ts";
import { type CallOutcome, callEngine } from "../client.ts";
import type { Scheduler } from "../scheduler.ts";
import type { Life, RunningEngine, SimulatedNode } from "../simulated-node.ts";

/** Function that every node provides. */
const ANYWHERE = "call::anywhere";

/** A run of a function, as its worker saw it. */
export interface Execution {
  readonly call: number;
  readonly node: string;
  /** What the function returns if it ends. */
  readonly answer: number;
}

/** A call of a client. */
export interface RemoteCall {
  readonly id: number;
  /** Engine that was called, and node whose worker runs the function; undefined: any. */
  readonly from: string;
  readonly to: string | undefined;
  outcome: CallOutcome | undefined;
}

/** Calls of functions of workers that may be at other nodes. */
export class CallWorkload {
  readonly calls: RemoteCall[] = [];
  readonly executions: Execution[] = [];
  readonly #scheduler: Scheduler;
  readonly #nodes: () => readonly SimulatedNode[];

  constructor(scheduler: Scheduler, nodes: () => readonly SimulatedNode[]) {
    this.#scheduler = scheduler;
    this.#nodes = nodes;
  }

  static functionAt(node: string): string {
    return `call::at_${node}`;
  }

  async step(life: RunningEngine): Promise<void> {
    const { random } = this.#scheduler;
    const to = random.chance(0.25) ? undefined : random.pick(this.#nodes()).name;
    const call: RemoteCall = { id: this.calls.length + 1, from: life.process.name, to, outcome: undefined };
    this.calls.push(call);
    const ms = random.chance(0.1) ? 6_000 : random.int(0, 200);
    const functionId = to === undefined ? ANYWHERE : CallWorkload.functionAt(to);
    call.outcome = await callEngine(this.#scheduler, life, functionId, { call: call.id, ms });
  }

  /** Serves the functions at a node. */
  serve(node: SimulatedNode, life: Life, worker: InMemoryWorker): void {
    const run = async (data: unknown): Promise<number> => {
      const { call, ms } = data as { readonly call: number; readonly ms: number };
      const execution: Execution = { call, node: node.name, answer: this.executions.length + 1 };
      this.executions.push(execution);
      await new Promise<void>((resolve) => void this.#scheduler.after(ms, life.process, "call ends", resolve));
      return execution.answer;
    };
    worker.serve(ANYWHERE, run);
    worker.serve(CallWorkload.functionAt(node.name), run);
  }
}
