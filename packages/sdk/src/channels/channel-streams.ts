import type { ChannelStreams } from "./channel-host.ts";
import type { OpenChannelSocket } from "./channel-socket.ts";
import { ReadingStream } from "./reading-stream.ts";
import { WritingStream } from "./writing-stream.ts";

/** Returns the streams of channels. They use the sockets of a platform. */
export function channelStreams(openSocket: OpenChannelSocket): ChannelStreams {
  return {
    reader: (host, ref) => new ReadingStream(host, openSocket, ref),
    writer: (host, ref) => new WritingStream(host, openSocket, ref),
  };
}
