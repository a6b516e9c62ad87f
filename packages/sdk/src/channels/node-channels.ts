import { channelStreams } from "./channel-streams.ts";
import { nodeChannelSockets } from "./node-channel-socket.ts";

export const nodeChannels = /* @__PURE__ */ channelStreams(nodeChannelSockets);
