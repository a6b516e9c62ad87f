import { CommandFailure } from "../exit-codes.ts";
import { parseLogLine } from "../logs/log-lines.ts";
import { deferred } from "../stop-requests.ts";
import type { DevProcess } from "./dev-process.ts";
import type { SvcChild } from "./svc-child.ts";

/** Maximum number of lines of output that are shown of an engine that failed to start. */
const KEPT_LINES = 30;

export interface EngineAddresses {
  readonly bridge: string;
  readonly http: string;
  readonly realtime: string;
}

/** One run of an engine. */
export class EngineRun implements DevProcess<EngineAddresses> {
  readonly up: Promise<EngineAddresses>;
  readonly ended: Promise<string>;
  readonly #child: SvcChild;
  /**
   * Plain text that the engine wrote before it was ready. It is the reason why the engine cannot start, and is shown in
   * the error.
   */
  readonly #output: string[] = [];

  constructor({
    spawn,
    onLine,
  }: {
    readonly spawn: (onLine: (line: string) => void) => SvcChild;
    /** Called with each line of the log. */
    readonly onLine: (line: string) => void;
  }) {
    const up = deferred<EngineAddresses>();
    let isUp = false;
    this.#child = spawn((line) => {
      const record = parseLogLine(line);
      if (record === undefined && !isUp) pushLast(this.#output, line);
      else onLine(line);
      if (record?.message !== "the engine is up") return;
      isUp = true;
      const { bridge, http, realtime } = record.fields;
      up.settle({ bridge: String(bridge), http: String(http), realtime: String(realtime) });
    });
    this.up = up.promise;
    this.ended = this.#child.ended;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  startFailure(how: string): CommandFailure {
    const [first = `The engine exited while it was starting (${how}).`, ...more] = this.#output;
    return new CommandFailure(first.replace(/^error: /, ""), { advice: more });
  }

  stop(): Promise<void> {
    return this.#child.stop();
  }

  kill(): void {
    this.#child.kill();
  }
}

/** Returns flags with which an engine listens at the same addresses. */
export function portFlags({ bridge, http, realtime }: EngineAddresses): readonly string[] {
  // The URL omits the port if it is the default port of the scheme.
  const portOf = (url: string): string => {
    const { port, protocol } = new URL(url);
    if (port !== "") return port;
    return protocol === "https:" || protocol === "wss:" ? "443" : "80";
  };
  return ["--bridge-port", portOf(bridge), "--http-port", portOf(http), "--ws-port", portOf(realtime)];
}

function pushLast(lines: string[], line: string): void {
  lines.push(line);
  if (lines.length > KEPT_LINES) lines.shift();
}
