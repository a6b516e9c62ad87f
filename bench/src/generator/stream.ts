import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { WebSocket } from "ws";
import { cpuTimeUs, residentBytes } from "../cpu.ts";
import type { StreamLoad, Window } from "./load.ts";

const HANDSHAKE_TIMEOUT_MS = 5_000;
const MEMORY_SAMPLE_MS = 20;
/** Maximum bytes in flight at the sender. */
const SENDING_BYTES = 1024 * 1024;
const TIMEOUT_MS = 30_000;

/**
 * Sends a fixed number of bytes from one WebSocket to another through a server and measures the time until the last
 * byte has arrived.
 */
export async function runStream(load: StreamLoad): Promise<Window> {
  const sockets: WebSocket[] = [];
  const dial = async (path: string): Promise<WebSocket> => {
    const socket = new WebSocket(`ws://127.0.0.1:${load.port}${path}`, {
      perMessageDeflate: false,
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    });
    sockets.push(socket);
    await once(socket, "open");
    return socket;
  };
  try {
    if (load.via === "relay") return await measure(load, await dial("/"), await dial("/"));
    const { writer, reader } = await createChannel(await dial("/"));
    return await measure(load, await dial(pathOf(writer)), await dial(pathOf(reader)));
  } finally {
    for (const socket of sockets) socket.terminate();
  }
}

interface Ref {
  readonly channel_id: string;
  readonly access_key: string;
  readonly direction: string;
}

function pathOf({ channel_id, access_key, direction }: Ref): string {
  return `/ws/channels/${channel_id}?key=${access_key}&dir=${direction}`;
}

function createChannel(worker: WebSocket): Promise<{ readonly writer: Ref; readonly reader: Ref }> {
  const id = randomUUID();
  return new Promise((resolve, reject) => {
    worker.once("close", () => reject(new Error("the engine closed the connection")));
    worker.on("message", (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as {
        invocation_id?: string;
        result?: { writer: Ref; reader: Ref };
        error?: unknown;
      };
      if (frame.invocation_id !== id) return;
      if (frame.result === undefined) reject(new Error(`no channel: ${JSON.stringify(frame.error)}`));
      else resolve(frame.result);
    });
    worker.send(
      JSON.stringify({ type: "invokefunction", invocation_id: id, function_id: "engine::channels::create", data: {} }),
    );
  });
}

/** One operation is 1 MiB. */
async function measure(load: StreamLoad, sender: WebSocket, receiver: WebSocket): Promise<Window> {
  const { observe } = load;
  const item = Buffer.alloc(load.itemBytes, 0x61);
  const first = observe[0];
  let peakResidentBytes = 0;
  const sampling = setInterval(() => {
    if (first !== undefined) peakResidentBytes = Math.max(peakResidentBytes, residentBytes(first));
  }, MEMORY_SAMPLE_MS);
  const cpuBeforeUs = observe.map(cpuTimeUs);
  const ownBefore = process.cpuUsage();
  const startMs = performance.now();
  try {
    await new Promise<void>((resolve, reject) => {
      let received = 0;
      let sent = 0;
      const timer = setTimeout(
        () =>
          reject(
            new Error(
              `${load.via}: ${received} of ${sent} bytes had arrived after ${TIMEOUT_MS} ms, ${sender.bufferedAmount} are unsent`,
            ),
          ),
        TIMEOUT_MS,
      );
      receiver.on("message", (data: Buffer) => {
        received += data.length;
        if (received < load.totalBytes) return;
        clearTimeout(timer);
        resolve();
      });
      for (const socket of [sender, receiver]) socket.once("close", () => reject(new Error("the stream ended early")));
      const fill = (): void => {
        while (sent < load.totalBytes && sender.bufferedAmount < SENDING_BYTES) {
          sent += item.length;
          sender.send(item, fill);
        }
      };
      fill();
    });
    const elapsedMs = performance.now() - startMs;
    const cpuUs = observe.map((pid, index) => cpuTimeUs(pid) - (cpuBeforeUs[index] as number));
    const own = process.cpuUsage(ownBefore);
    const operations = load.totalBytes / (1024 * 1024);
    const perMib = (elapsedMs * 1000) / operations;
    return {
      operations,
      elapsedMs,
      p50Us: perMib,
      p99Us: perMib,
      cpuUs,
      ownCpuUs: own.user + own.system,
      peakResidentBytes,
    };
  } finally {
    clearInterval(sampling);
  }
}
