import { http } from "@iii-dev/helpers/http";
import { Logger } from "@iii-dev/helpers/observability";
import { registerWorker, TriggerAction } from "iii-sdk-0.22";
import { ChannelReader, ChannelWriter } from "iii-sdk-0.22/channel";
import { createChannel, createStream } from "iii-sdk-0.22/helpers";
import { StateEventType } from "iii-sdk-0.22/state";
import { runWorker } from "./worker-program.mjs";

runWorker({
  registerWorker,
  TriggerAction,
  ChannelReader,
  ChannelWriter,
  createChannel,
  createStream,
  StateEventType,
  http,
  Logger,
});
