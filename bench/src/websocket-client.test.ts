import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocketServer } from "ws";
import {
  clientHeaderBytes,
  encodeClientFrame,
  OPCODE,
  patchMasked,
  ServerFrameReader,
  WebSocketClient,
} from "./websocket-client.ts";

function unmask(frame: Buffer, headerBytes: number): Buffer {
  const key = frame.subarray(headerBytes - 4, headerBytes);
  return Buffer.from(frame.subarray(headerBytes).map((byte, index) => byte ^ (key[index & 3] as number)));
}

function serverFrame(payload: string): Buffer {
  const body = Buffer.from(payload);
  const header =
    body.length < 126
      ? Buffer.from([0x81, body.length])
      : body.length < 65_536
        ? Buffer.from([0x81, 126, body.length >> 8, body.length & 255])
        : Buffer.concat([
            Buffer.from([0x81, 127]),
            Buffer.from(BigInt(body.length).toString(16).padStart(16, "0"), "hex"),
          ]);
  return Buffer.concat([header, body]);
}

describe("client frames", () => {
  for (const size of [0, 1, 5, 125, 126, 65_535, 65_536, 70_003]) {
    it(`masks a payload of ${size} bytes so that unmasking restores it`, () => {
      const payload = Buffer.from(Array.from({ length: size }, (_, index) => index & 255));
      const frame = encodeClientFrame(OPCODE.text, payload);
      const headerBytes = clientHeaderBytes(size);

      expect(frame.length).toBe(headerBytes + size);
      expect(frame[0]).toBe(0x81);
      expect((frame[1] as number) & 0x80).toBe(0x80);
      expect(frame.subarray(headerBytes - 4, headerBytes).includes(0)).toBe(false);
      expect(unmask(frame, headerBytes).equals(payload)).toBe(true);
    });
  }

  it("patches masked bytes in place at any alignment", () => {
    for (let offset = 0; offset < 8; offset++) {
      const frame = encodeClientFrame(OPCODE.text, Buffer.from("abcdefghijklmnop"));
      patchMasked(frame, 6, offset, Buffer.from("XYZ"));
      const expected = `${"abcdefghijklmnop".slice(0, offset)}XYZ${"abcdefghijklmnop".slice(offset + 3)}`;
      expect(unmask(frame, 6).toString()).toBe(expected);
    }
  });
});

describe("server frames", () => {
  const messages = [
    "",
    "a",
    "b".repeat(125),
    "c".repeat(126),
    "d".repeat(65_535),
    "e".repeat(65_536),
    "f".repeat(200_000),
  ];
  const stream = Buffer.concat(messages.map(serverFrame));

  for (const chunkBytes of [1, 2, 3, 7, 1000, 65_536, stream.length]) {
    it(`are complete if the stream arrives in chunks of ${chunkBytes} bytes`, () => {
      const seen: string[] = [];
      const reader = new ServerFrameReader((_opcode, payload) => seen.push(payload.toString()));
      for (let at = 0; at < stream.length; at += chunkBytes) reader.push(stream.subarray(at, at + chunkBytes));
      expect(seen).toEqual(messages);
    });
  }

  it("are rejected if masked or fragmented", () => {
    const reader = (): ServerFrameReader => new ServerFrameReader(() => {});
    expect(() => reader().push(Buffer.from([0x81, 0x81, 0, 0, 0, 0, 1]))).toThrow("masked");
    expect(() => reader().push(Buffer.from([0x01, 0x01, 0x61]))).toThrow("fragmented");
  });
});

describe("the client", () => {
  let server: Server | undefined;
  afterEach(() => new Promise<void>((resolve) => (server === undefined ? resolve() : server.close(() => resolve()))));

  async function listen(http: Server): Promise<number> {
    server = http;
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    return (http.address() as AddressInfo).port;
  }

  it("talks to a real WebSocket server, large and small frames queued together", async () => {
    const http = createServer();
    new WebSocketServer({ server: http }).on("connection", (socket) => {
      socket.ping("are you there");
      socket.on("message", (data, isBinary) => socket.send(data as Buffer, { binary: isBinary }));
      socket.on("pong", (data) => socket.send(`pong: ${data.toString()}`));
    });
    const port = await listen(http);
    const texts = ["small", "x".repeat(300_000), "é".repeat(70_000), "last"];
    const seen = new Set<string>();

    const client = await new Promise<WebSocketClient>((resolve, reject) => {
      const opened = WebSocketClient.open(port, "/", {
        onMessage(payload) {
          seen.add(payload.toString());
          if (seen.size === texts.length + 1) resolve(opened);
        },
        onReadEnd() {},
        onClosed: (reason) => reject(new Error(reason)),
      });
      opened.then((socket) => {
        for (const text of texts) socket.queueText(text);
        socket.flush();
      }, reject);
    });
    client.destroy();

    expect(seen).toEqual(new Set([...texts, "pong: are you there"]));
  });

  it("reports the response of a server that refuses", async () => {
    const http = createServer();
    http.on("upgrade", (_request, socket) => socket.end("HTTP/1.1 401 Unauthorized\r\n\r\n"));
    const port = await listen(http);

    await expect(WebSocketClient.open(port, "/", { onMessage() {}, onReadEnd() {}, onClosed() {} })).rejects.toThrow(
      "401 Unauthorized",
    );
  });
});
