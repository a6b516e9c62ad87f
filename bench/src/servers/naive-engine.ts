// The baseline: a simple engine for the same wire. Parses every frame, builds every frame with JSON.stringify and sends
// it on its own. Keeps the state that an engine must keep: the providers of functions, the pending calls and their
// deadlines, and a span per call.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import { announceAndServe } from "./announce.ts";

const CALL_TIMEOUT_MS = 30_000;
const SWEEP_MS = 250;
const MAX_SPANS = 10_000;

interface WireMessage {
  readonly type: string;
  readonly id?: string;
  readonly invocation_id?: string | null;
  readonly function_id?: string;
  readonly data?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
  readonly traceparent?: string | null;
  readonly action?: { readonly type: string } | null;
}

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly name: string;
  readonly startMs: number;
  durationMs: number;
}

interface PendingCall {
  readonly caller: WebSocket;
  readonly callee: WebSocket;
  readonly functionId: string;
  readonly deadlineMs: number;
  readonly span: Span;
}

const providers = new Map<string, WebSocket>();
const pending = new Map<string, PendingCall>();
const spans: Span[] = [];
let nextSpan = 0;

function randomHex(digits: number): string {
  let hex = "";
  while (hex.length < digits)
    hex += Math.floor((1 + Math.random()) * 0x1_0000_0000)
      .toString(16)
      .slice(1);
  return hex.slice(0, digits);
}

function openSpan(functionId: string, traceparent: string | null | undefined): Span {
  const span = {
    traceId: traceparent?.split("-")[1] ?? randomHex(32),
    spanId: randomHex(16),
    name: `call ${functionId}`,
    startMs: performance.now(),
    durationMs: 0,
  };
  spans[nextSpan++ % MAX_SPANS] = span;
  return span;
}

function send(socket: WebSocket, message: object): void {
  socket.send(JSON.stringify(message));
}

function fail(socket: WebSocket, invocationId: string, functionId: string, code: string, message: string): void {
  send(socket, {
    type: "invocationresult",
    invocation_id: invocationId,
    function_id: functionId,
    error: { code, message },
  });
}

function invoke(caller: WebSocket, message: WireMessage): void {
  const functionId = message.function_id ?? "";
  if (functionId === "engine::workers::register") return;
  const invocationId = message.invocation_id ?? undefined;
  const wantsAnswer = invocationId !== undefined && message.action?.type !== "void";
  const callee = providers.get(functionId);
  if (callee === undefined) {
    if (wantsAnswer) fail(caller, invocationId, functionId, "function_not_found", `Function ${functionId} not found`);
    return;
  }
  const id = invocationId ?? randomUUID();
  const span = openSpan(functionId, message.traceparent);
  if (wantsAnswer) pending.set(id, { caller, callee, functionId, deadlineMs: Date.now() + CALL_TIMEOUT_MS, span });
  send(callee, {
    type: "invokefunction",
    invocation_id: id,
    function_id: functionId,
    data: message.data ?? null,
    traceparent: `00-${span.traceId}-${span.spanId}-01`,
  });
}

function settle(callee: WebSocket, message: WireMessage): void {
  const id = message.invocation_id ?? "";
  const call = pending.get(id);
  if (call === undefined || call.callee !== callee) return;
  pending.delete(id);
  call.span.durationMs = performance.now() - call.span.startMs;
  send(call.caller, {
    type: "invocationresult",
    invocation_id: id,
    function_id: call.functionId,
    result: message.result,
    error: message.error,
    traceparent: message.traceparent,
  });
}

function receive(socket: WebSocket, data: RawData): void {
  const message = JSON.parse(data.toString()) as WireMessage;
  switch (message.type) {
    case "registerfunction":
      providers.set(message.id ?? "", socket);
      break;
    case "invokefunction":
      invoke(socket, message);
      break;
    case "invocationresult":
      settle(socket, message);
      break;
    case "ping":
      send(socket, { type: "pong" });
      break;
  }
}

function disconnected(socket: WebSocket): void {
  for (const [functionId, provider] of providers) if (provider === socket) providers.delete(functionId);
  for (const [id, call] of pending) {
    if (call.callee === socket) fail(call.caller, id, call.functionId, "invocation_stopped", "Invocation stopped");
    if (call.callee === socket || call.caller === socket) pending.delete(id);
  }
}

setInterval(() => {
  const nowMs = Date.now();
  for (const [id, call] of pending) {
    if (call.deadlineMs > nowMs) break;
    pending.delete(id);
    fail(
      call.caller,
      id,
      call.functionId,
      "call_timeout",
      `${call.functionId} did not answer within ${CALL_TIMEOUT_MS} ms`,
    );
  }
}, SWEEP_MS);

const http = createServer();
new WebSocketServer({ server: http, perMessageDeflate: false, maxPayload: 16 * 1024 * 1024 }).on(
  "connection",
  (socket) => {
    socket.on("message", (data) => receive(socket, data));
    socket.on("close", () => disconnected(socket));
    // An error is always followed by a close.
    socket.on("error", () => socket.terminate());
    send(socket, { type: "workerregistered", worker_id: randomUUID() });
  },
);
announceAndServe(http);
