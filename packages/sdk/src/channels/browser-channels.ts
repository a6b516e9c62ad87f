import { browserChannelSockets } from "./browser-channel-socket.ts";
import { channelStreams } from "./channel-streams.ts";

export const browserChannels = /* @__PURE__ */ channelStreams(browserChannelSockets);
