import * as sdk from "iii-sdk-0.11";
import { runWorker } from "./worker-program.mjs";

runWorker({ ...sdk, createChannel: (client, size) => client.createChannel(size) });
