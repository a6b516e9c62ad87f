import { once } from "node:events";
import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { type ManualClock, manualClock } from "../../../testing/index.ts";
import { arrivals, type Site, serve, site } from "../testing/site.ts";
import { BodyPace } from "./body-pace.ts";

const UP = { method: "POST", headers: { "content-type": "application/octet-stream" }, agent: false } as const;

interface Upload {
  readonly clock: ManualClock;
  readonly here: Site;
  readonly request: ClientRequest;
  readonly status: Promise<number | undefined>;
  /** Sends a piece after this delay, and waits until the function has it. */
  send(afterMs: number, bytes: number): Promise<void>;
}

/**
 * An upload to a route with a timeout of 30 s, whose pieces the test sends. The function returns the number of received
 * bytes.
 */
async function upload(answer: "result" | "stream" = "result"): Promise<Upload> {
  const clock = manualClock();
  const here = await site({ clock });
  const pieces = arrivals<number>();
  const read = async ({ request_body, response }: Record<string, unknown>): Promise<void> => {
    const reader = here.engine.takeReader(request_body);
    let bytes = 0;
    for (let item = await reader.read(); item?.kind === "binary"; item = await reader.read()) {
      // One write of the client may arrive in several pieces.
      bytes += item.bytes.byteLength;
      for (let at = 0; at < item.bytes.byteLength; at++) pieces.add(1);
    }
    const writer = here.engine.takeWriter(response);
    await writer.write({ kind: "binary", bytes: Buffer.from(String(bytes)) });
    writer.end();
  };
  await serve(
    here.worker,
    "/up",
    (input) => {
      const done = read(input);
      return answer === "stream" ? undefined : done;
    },
    { http_method: "POST" },
  );
  const request = httpRequest(`${here.url}/up`, UP).on("error", () => {});
  const status = once(request, "response").then(([message]) => {
    const { statusCode } = message as IncomingMessage;
    (message as IncomingMessage).resume();
    return statusCode;
  });
  status.catch(() => {});
  let sent = 0;
  return {
    clock,
    here,
    request,
    status,
    async send(afterMs, bytes) {
      clock.advance(afterMs);
      request.write(Buffer.alloc(bytes));
      sent += bytes;
      await pieces.count(sent);
    },
  };
}

describe("the route's timeout", () => {
  it.each(["result", "stream"] as const)(
    "begins anew while an upload keeps moving, for an answer that is a %s",
    async (answer) => {
      const { send, request, status } = await upload(answer);
      for (let piece = 0; piece < 6; piece++) await send(20_000, 32 * 1024);
      request.end();
      expect(await status).toBe(200);
    },
  );

  it("does not for a client that trickles a byte now and then, whatever it sent before (1.4)", async () => {
    const { clock, send, status, request } = await upload();
    await send(0, 64 * 1024);
    await send(2_000, 64 * 1024);
    await send(20_000, 1);
    clock.advance(11_000);
    expect(await status).toBe(504);
    request.destroy();
  });

  it("counts from the end of the body", async () => {
    const { clock, here, send, status, request } = await upload();
    await send(20_000, 32 * 1024);
    await send(20_000, 32 * 1024);
    // The body is not complete: the function waits.
    clock.advance(29_000);
    expect(here.engine.kernel.router.counts.inFlight).toBe(1);
    clock.advance(2_000);
    expect(await status).toBe(504);
    request.destroy();
  });
});

describe("a body's pace", () => {
  function pace(timeoutMs = 30_000): {
    clock: ManualClock;
    moves: number[];
    body: BodyPace;
    piece(waitMs: number, bytes: number, readerMs?: number): void;
  } {
    const clock = manualClock();
    const moves: number[] = [];
    const body = new BodyPace({ clock, timeoutMs, onMoved: () => moves.push(clock.monotonic()) });
    return {
      clock,
      moves,
      body,
      piece(waitMs, bytes, readerMs = 0) {
        body.startWaiting();
        clock.advance(waitMs);
        body.received(bytes);
        clock.advance(readerMs);
        body.handedOn();
      },
    };
  }

  it("is told once a second at most, or four times in a short timeout", () => {
    const slow = pace();
    for (let piece = 0; piece < 30; piece++) slow.piece(100, 10_000);
    expect(slow.moves).toEqual([1_000, 2_000, 3_000]);
    const short = pace(400);
    for (let piece = 0; piece < 4; piece++) short.piece(50, 10_000);
    expect(short.moves).toEqual([100, 200]);
  });

  it("is 1 KiB for each second of waiting at least, with nothing saved up", () => {
    const { piece, moves } = pace();
    piece(10_000, 10 * 1024);
    piece(10_000, 10 * 1024 - 1);
    piece(1, 1_000_000);
    piece(20_000, 20);
    expect(moves).toEqual([10_000, 20_001]);
  });

  it("is not slowed by its reader, and ends with the last piece", () => {
    const { piece, moves, body, clock } = pace();
    piece(0, 100, 25_000);
    piece(0, 100, 100);
    body.ended();
    expect(moves).toEqual([25_000, clock.monotonic()]);
  });
});
