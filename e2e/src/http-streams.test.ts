import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "@svc-runtime/protocol/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type EngineProcess, type Ports, startEngine } from "./support/cli.ts";

const MB = 1024 ** 2;
const BYTES = 512 * MB;
/** Sent before the measurement: the engine's heap grows once for its first bodies, of any size. */
const WARM_UP_BYTES = 64 * MB;
const PIECE = Buffer.alloc(64 * 1024, 7);
const MAX_GROWTH_MB = 50;

interface ChannelRef {
  readonly channel_id: string;
  readonly access_key: string;
  readonly direction: string;
}
interface Frame {
  readonly type: string;
  readonly invocation_id: string;
  readonly function_id: string;
  readonly data: {
    readonly query_params: Readonly<Record<string, string>>;
    readonly request_body: ChannelRef;
    readonly response: ChannelRef;
  };
}

const project = mkdtempSync(join(tmpdir(), "svc-http-streams-"));
let ports: Ports;
let engine: EngineProcess;
let worker: WebSocket;

function say(message: unknown): void {
  worker.send(JSON.stringify(message));
}

function open({ channel_id, access_key, direction }: ChannelRef): WebSocket {
  return new WebSocket(`ws://127.0.0.1:${ports.bridge}/ws/channels/${channel_id}?key=${access_key}&dir=${direction}`);
}

/**
 * A worker with the wire of a published client: `up` counts the bytes of its body, `down` writes the requested number.
 */
const handlers: Record<string, (frame: Frame) => void> = {
  up({ data, invocation_id, function_id }) {
    let bytes = 0;
    const channel = open(data.request_body);
    channel.on("message", (piece: Buffer) => {
      bytes += piece.length;
    });
    channel.on("close", () =>
      say({ type: "invocationresult", invocation_id, function_id, result: { body: { bytes } } }),
    );
  },
  down({ data, invocation_id, function_id }) {
    const channel = open(data.response);
    const total = Number(data.query_params.bytes);
    let bytes = 0;
    const write = (): void => {
      if (bytes >= total) {
        channel.close(1000);
        return;
      }
      bytes += PIECE.length;
      channel.send(PIECE, write);
    };
    channel.on("open", write);
    say({ type: "invocationresult", invocation_id, function_id });
  },
};

beforeAll(async () => {
  ports = await freePorts();
  writeFileSync(join(project, "config.yaml"), "workers:\n  - name: svc-http\n");
  engine = await startEngine({ cwd: project, ports });
  worker = new WebSocket(`ws://127.0.0.1:${ports.bridge}`);
  worker.on("message", (text: Buffer) => {
    const frame = JSON.parse(text.toString()) as Frame;
    if (frame.type === "invokefunction") handlers[frame.function_id]?.(frame);
  });
  await once(worker, "open");
  for (const id of Object.keys(handlers)) {
    say({ type: "registerfunction", id });
    say({
      type: "registertrigger",
      id,
      trigger_type: "http",
      function_id: id,
      config: { api_path: `/${id}`, http_method: "POST", timeout_ms: 200_000 },
    });
  }
  const pong = once(worker, "pong");
  worker.ping();
  await pong;
});

afterAll(async () => {
  worker?.terminate();
  engine?.child.kill("SIGTERM");
  await engine?.exited;
  rmSync(project, { recursive: true, force: true });
});

function residentMb(): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${engine.pid}/status`, "utf8"))?.[1]) / 1024;
}

/** Runs `action` and returns the maximum growth of the engine meanwhile, in MB. */
async function growthDuring(action: () => Promise<void>): Promise<number> {
  const before = residentMb();
  let peak = before;
  const look = setInterval(() => {
    peak = Math.max(peak, residentMb());
  }, 20);
  await action();
  clearInterval(look);
  return peak - before;
}

function post(path: string): ClientRequest {
  return httpRequest({
    host: "127.0.0.1",
    port: ports.http,
    path,
    method: "POST",
    headers: { "content-type": "application/octet-stream" },
  });
}

async function sendBytes(request: ClientRequest, total: number): Promise<void> {
  for (let sent = 0; sent < total; sent += PIECE.length) if (!request.write(PIECE)) await once(request, "drain");
  request.end();
}

async function bytesOf(request: ClientRequest): Promise<{ readonly bytes: number; readonly last: string }> {
  const [response] = (await once(request, "response")) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
  let bytes = 0;
  let last = "";
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length;
    last = piece.length < 1000 ? piece.toString() : "";
  }
  return { bytes, last };
}

async function upload(total: number): Promise<void> {
  const request = post("/up");
  const answer = bytesOf(request);
  await sendBytes(request, total);
  expect(JSON.parse((await answer).last)).toEqual({ bytes: total });
}

async function download(total: number): Promise<void> {
  const request = post(`/down?bytes=${total}`);
  request.end();
  expect((await bytesOf(request)).bytes).toBe(total);
}

describe("half a gigabyte", () => {
  it.each([
    ["goes up", upload],
    ["comes down", download],
  ])(`%s through a route while the engine grows by less than ${MAX_GROWTH_MB} MB`, async (_way, transfer) => {
    await transfer(WARM_UP_BYTES);
    expect(await growthDuring(() => transfer(BYTES))).toBeLessThan(MAX_GROWTH_MB);
  });
});
