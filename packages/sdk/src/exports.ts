// Exports that all platforms share. Each platform adds its own `connect`.

export type { ChannelRef } from "@svc-runtime/protocol/client";
export { CallError, type ErrorCode, type Job } from "@svc-runtime/protocol/client";
export type { CallContext, Caller, Handler } from "./calls/call-context.ts";
export type {
  CallOptions,
  CallRequest,
  EnqueueReceipt,
  EnqueueRequest,
  FunctionChoice,
  PayloadOf,
  ResultOf,
} from "./calls/call-request.ts";
export type { JsonCallRequest } from "./calls/json-call.ts";
export type { CollectOptions, ReadRef, WriteRef } from "./channels/channel-host.ts";
export { ChannelReader } from "./channels/channel-reader.ts";
export type { ChannelItem } from "./channels/channel-socket.ts";
export { ChannelWriter } from "./channels/channel-writer.ts";
export type { Channel, ChannelOptions } from "./channels/channels.ts";
export type { ReconnectOptions } from "./connection/backoff.ts";
export type { ConnectionState } from "./connection/connection.ts";
export type { TriggerResult } from "./connection/session.ts";
export type { CronEvent, CronOutcome, CronRun, CronSchedule, CronTriggered } from "./cron/cron-types.ts";
export type { WorkerCron } from "./cron/worker-cron.ts";
export type { EventMetadata, EventTopic } from "./event/event-types.ts";
export type { WorkerEvent } from "./event/worker-event.ts";
export type { HttpHandler, HttpRequestHandler } from "./http/http-handler.ts";
export type { HttpFile, HttpRequest, HttpTriggerPayload } from "./http/http-request.ts";
export { type HttpHeaders, type HttpResponse, json, type ResponseOptions, redirect } from "./http/http-response.ts";
export type { ResponseWriter } from "./http/response-writer.ts";
export type { RequestPart } from "./http/route-format.ts";
export type { RequestIssue } from "./http/route-request.ts";
export type {
  BodyOption,
  HttpRoute,
  PathParams,
  RegisterRoute,
  RouteHandler,
  RouteInput,
  RouteOptions,
} from "./http/route-types.ts";
export type { ServerSentEvent } from "./http/server-sent-event.ts";
export type { WorkerHttp } from "./http/worker-http.ts";
export type {
  ConditionOptions,
  HelperOptions,
  IterateOptions,
  Page,
  PageOptions,
  SetResult,
  UpdateOptions,
  UpdateResult,
  WriteOptions,
} from "./items/item-types.ts";
export type { UpdateOp, UpdateOpError, UpdatePath } from "./items/update-op.ts";
export {
  createLogger,
  jsonLine,
  type LogFields,
  type Logger,
  type LoggerOptions,
  type LogLevel,
  type LogRecord,
  silentLogger,
} from "./logger.ts";
export type { WaitOptions, WorkerOptions } from "./options.ts";
export type {
  DoneJob,
  DoneJobPage,
  EndedJob,
  EnqueuedJob,
  EnqueueOptions,
  JobFailure,
  JobOptions,
  JobPage,
  JobProgress,
  JobState,
  JobToEnqueue,
  PeekOptions,
  QueueJob,
  QueueStats,
  RedriveOptions,
} from "./queue/queue-types.ts";
export type { RunningJob } from "./queue/running-job.ts";
export type { WorkerQueue } from "./queue/worker-queue.ts";
// Exported with `*`, because a project can merge its declarations only into exports of this form.
export * from "./registration/functions.ts";
export type { HttpFunction, HttpFunctionAuth } from "./registration/http-function.ts";
export type {
  FunctionOptions,
  Registration,
  TriggeredFunctionOptions,
  TriggerTypeInput,
} from "./registration/registration-options.ts";
export * from "./registration/trigger-configs.ts";
export type { Binding, TriggerHandlers } from "./registration/trigger-providers.ts";
export type { TriggerTypeRef } from "./registration/trigger-type-ref.ts";
export type { RegisteredTrigger, TriggerInput } from "./registration/triggers.ts";
export { type Format, type JsonSchema, withJsonSchema } from "./schema/schema.ts";
export type { InputOf, OutputOf, StandardSchema } from "./schema/standard-schema.ts";
export type {
  ExportedItem,
  ExportOptions,
  ImportItem,
  ImportOptions,
  ImportResult,
  SetManyResult,
  SnapshotOptions,
  SnapshotResult,
  StateEntry,
  StateEvent,
  StateGroup,
  StateSelection,
  StateWrite,
} from "./state/state-types.ts";
export type { StateScope, WorkerState } from "./state/worker-state.ts";
export type {
  StreamChange,
  StreamDeleteResult,
  StreamEntry,
  StreamEvent,
  StreamJoinEvent,
  StreamLeaveEvent,
  StreamListing,
  StreamNotice,
  StreamSetResult,
  StreamUpdateResult,
} from "./stream/stream-types.ts";
export type { StreamGroup, WorkerStream } from "./stream/worker-stream.ts";
export type { StreamClient, StreamClientOptions } from "./stream-client/stream-client.ts";
export type { CollectionChange, CollectionOptions, StreamCollection } from "./stream-client/stream-collection.ts";
export type {
  GroupHandlers,
  ItemHandlers,
  StreamChoice,
  StreamGap,
  StreamHandlers,
  StreamSubscription,
  StreamUpdate,
  SubscriptionStatus,
  SyncFacts,
} from "./stream-client/stream-handlers.ts";
export type { Span, SpanKind, SpanOptions } from "./telemetry/span.ts";
export type { TelemetryOptions } from "./telemetry/telemetry-options.ts";
export { VERSION } from "./version.ts";
export type { Worker } from "./worker.ts";
