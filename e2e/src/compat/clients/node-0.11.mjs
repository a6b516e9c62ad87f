import * as sdk from "iii-sdk-0.11";
import { StateEventType } from "iii-sdk-0.11/state";
import { runWorker } from "./worker-program.mjs";

runWorker({
  ...sdk,
  StateEventType,
  createChannel: (client, size) => client.createChannel(size),
  createStream: (client, name, keeper) => client.createStream(name, keeper),
});
