import { callAndEchoes } from "./call-and-echoes.ts";
import { channelStream } from "./channel-stream.ts";
import { clusterCalls } from "./cluster-calls.ts";
import { clusterJobs } from "./cluster-jobs.ts";
import { collectorOutage } from "./collector-outage.ts";
import { consoleLogs } from "./console-logs.ts";
import { consoleOpenPages } from "./console-open-pages.ts";
import { consoleStreams } from "./console-streams.ts";
import { consoleTrace } from "./console-trace.ts";
import { crashLoop } from "./crash-loop.ts";
import { cronTriggers } from "./cron-triggers.ts";
import { eventFanOut } from "./event-fan-out.ts";
import { footprint } from "./footprint.ts";
import { httpCalls } from "./http-calls.ts";
import { httpRelay } from "./http-relay.ts";
import { largeState } from "./large-state.ts";
import { observedCalls } from "./observed-calls.ts";
import { payloadSizes } from "./payload-sizes.ts";
import { queuedJobs } from "./queued-jobs.ts";
import type { Scenario } from "./scenario.ts";
import { sdkCalls } from "./sdk-calls.ts";
import { singleCall } from "./single-call.ts";
import { smallCalls } from "./small-calls.ts";
import { stalledClient } from "./stalled-client.ts";
import { stateCalls } from "./state-calls.ts";
import { storedSpans } from "./stored-spans.ts";
import { streamFanOut } from "./stream-fan-out.ts";
import { waitingJobs } from "./waiting-jobs.ts";

/** All scenarios, in the order in which they run. */
export const scenarios: readonly Scenario[] = [
  smallCalls,
  singleCall,
  callAndEchoes,
  payloadSizes,
  sdkCalls,
  httpCalls,
  httpRelay,
  footprint,
  stateCalls,
  channelStream,
  largeState,
  streamFanOut,
  stalledClient,
  eventFanOut,
  cronTriggers,
  queuedJobs,
  waitingJobs,
  observedCalls,
  storedSpans,
  collectorOutage,
  consoleTrace,
  consoleLogs,
  consoleStreams,
  consoleOpenPages,
  crashLoop,
  clusterCalls,
  clusterJobs,
];
