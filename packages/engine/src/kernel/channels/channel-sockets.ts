import type { ChannelRef } from "@svc-runtime/protocol";
import type { Clock } from "../clock.ts";
import type { FrameSocket } from "../frame-socket.ts";
import type { Heartbeat } from "../heartbeat.ts";
import type { ChannelItem } from "../module.ts";
import type { Channel } from "./channel.ts";

/** Maximum number of bytes queued on a reader's socket. */
const MAX_SENDING_BYTES = 256 * 1024;
/**
 * A writer is disconnected after this time without a frame, ping or pong, in milliseconds. The time does not count
 * while the engine does not read the writer's socket. It is checked every 2.5 s, so a writer is disconnected within 25
 * s.
 */
const WRITER_DEAD_AFTER_MS = 22_500;
/**
 * The same limit for a reader, in milliseconds. It is longer because a reader that is still busy with earlier items may
 * stop reading its socket, and then it does not answer pings.
 */
const READER_DEAD_AFTER_MS = 300_000;

const CLOSE_NORMAL = 1000;
const CLOSE_WITHOUT_CODE = 1005;
const CLOSE_TAKEN = 1008;
const CLOSE_ABORTED = 1011;

/** Connects channel ends to WebSockets. */
export class ChannelSockets {
  readonly #clock: Clock;
  readonly #heartbeat: Heartbeat;
  readonly #open = new Set<FrameSocket>();

  constructor(parts: { readonly clock: Clock; readonly heartbeat: Heartbeat }) {
    this.#clock = parts.clock;
    this.#heartbeat = parts.heartbeat;
  }

  /** Attaches a socket to an end of the channel. If the end is taken, the socket is closed at once. */
  attach(channel: Channel, direction: ChannelRef["direction"], socket: FrameSocket): void {
    this.#open.add(socket);
    if (direction === "read") this.#attachReader(channel, socket);
    else this.#attachWriter(channel, socket);
  }

  /** Closes all sockets; used when the engine stops. */
  dropAll(): void {
    for (const socket of this.#open) socket.hangUp();
  }

  #attachReader(channel: Channel, socket: FrameSocket): void {
    let isEnding = false;
    let isHeldBack = false;
    const pump = (): void => {
      if (isEnding || isHeldBack) return;
      while (!channel.isEmpty) {
        if (socket.queuedBytes >= MAX_SENDING_BYTES) {
          isHeldBack = true;
          socket.onceDrained(() => {
            isHeldBack = false;
            pump();
          });
          return;
        }
        send(socket, channel.take() as ChannelItem);
      }
      if (channel.state === "open") return;
      isEnding = true;
      if (channel.state === "finished") socket.close();
      else socket.close(CLOSE_ABORTED, channel.reason);
    };
    const isOurs = channel.takeReader({ onChange: pump });
    const pulse = this.#watch(socket, READER_DEAD_AFTER_MS, () => false);
    socket.listen({
      // A reader sends no data.
      onFrame: pulse.heard,
      onAlive: pulse.heard,
      onClosed: () => {
        pulse.stop();
        if (isOurs && !isEnding) channel.leave("the reader's connection ended");
      },
    });
    if (isOurs) pump();
    else socket.close(CLOSE_TAKEN, "the reading end of this channel is already taken");
  }

  #attachWriter(channel: Channel, socket: FrameSocket): void {
    let isHeldBack = false;
    const pulse = this.#watch(socket, WRITER_DEAD_AFTER_MS, () => isHeldBack);
    const isOurs = channel.takeWriter({
      onRoom: () => {
        isHeldBack = false;
        pulse.heard();
        socket.resume();
      },
      onGone: () => socket.terminate(),
    });
    socket.listen({
      onFrame: (bytes, kind) => {
        pulse.heard();
        if (!isOurs) return;
        const hasRoom = channel.push(kind === "binary" ? { kind, bytes } : { kind, text: bytes.toString("utf8") });
        if (hasRoom) return;
        isHeldBack = true;
        socket.pause();
      },
      onAlive: pulse.heard,
      onClosed: (code) => {
        pulse.stop();
        if (!isOurs) return;
        if (code === CLOSE_NORMAL || code === CLOSE_WITHOUT_CODE) channel.finish();
        else channel.abort(`the writer's connection was lost (${code})`);
      },
    });
    if (!isOurs) socket.close(CLOSE_TAKEN, "the writing end of this channel is already taken");
  }

  /**
   * Pings the socket at each heartbeat, and terminates it after `deadAfterMs` without a sign of life. Does neither
   * while `isExcused` returns true.
   */
  #watch(
    socket: FrameSocket,
    deadAfterMs: number,
    isExcused: () => boolean,
  ): { readonly heard: () => void; readonly stop: () => void } {
    let lastHeardAt = this.#clock.monotonic();
    const beating = {
      beat: () => {
        if (isExcused()) return;
        if (this.#clock.monotonic() - lastHeardAt >= deadAfterMs) socket.terminate();
        else socket.ping();
      },
    };
    this.#heartbeat.add(beating);
    return {
      heard: () => {
        lastHeardAt = this.#clock.monotonic();
      },
      stop: () => {
        this.#heartbeat.remove(beating);
        this.#open.delete(socket);
      },
    };
  }
}

function send(socket: FrameSocket, item: ChannelItem): void {
  if (item.kind === "binary") socket.sendBinary(item.bytes);
  else socket.send(item.text);
}
