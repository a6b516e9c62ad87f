import type { IncomingMessage, ServerResponse } from "node:http";
import type { CallError, Caller, ChannelRef, FunctionId, Job, Payload } from "@svc/protocol";
import type { z } from "zod";
import type { Principal } from "./access/principal.ts";
import type { CallFailureCause } from "./call.ts";
import type { Clock } from "./clock.ts";
import type { Directory } from "./directory.ts";
import type { ComponentReport, HealthProbe } from "./health-contract.ts";
import type { LateSchema } from "./late-schema.ts";
import type { Logger } from "./logger.ts";
import type { Undo } from "./scope.ts";
import type { Streams } from "./stream-contract.ts";
import type { Telemetry } from "./telemetry-contract.ts";

export { isInfrastructure } from "./access/decide-call.ts";
export { makerShape, type Principal, TRUSTED } from "./access/principal.ts";
export { overQuota, Quota, type QuotaLimits } from "./access/quota.ts";

export type Awaitable<T> = T | Promise<T>;

/** What a capability (http, state, cron, …) is to the engine. One object, no base class. */
export interface Module<Config = unknown> {
  /** Also the config key and the log scope, e.g. `svc-state`. */
  readonly name: string;
  /** One line for listings. */
  readonly summary: string;
  /** Parses the module's block of the config file; its JSON Schema feeds the docs and the console. */
  readonly config: z.ZodType<Config>;
  /** Modules that must be running first. The engine starts in this order and stops in reverse. */
  readonly requires?: readonly string[];
  /** Rejecting here stops the engine from starting; in a running engine the module stays out and the reason is shown. */
  start(context: ModuleContext<Config>): Awaitable<RunningModule<Config>>;
}

export interface RunningModule<Config = unknown> {
  /**
   * Takes a config that already parsed. `restart` says that this change needs a new start, as every change does where `reconfigure` is absent:
   * the engine stops the module and starts it with the new config.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: most modules take every config and have nothing to say
  reconfigure?(next: Config): Awaitable<void | "restart">;
  /** Finishes work in hand; `context.signal` aborts when the grace period ends. Registrations are undone by the engine. */
  stop(): Awaitable<void>;
}

/** Keeps the config's type through to `start`. */
export function defineModule<Config>(module: Module<Config>): Module<Config> {
  return module;
}

/** A call that is under way, for its caller. */
export interface StartedCall {
  /** Who runs it. */
  readonly workerId: string;
  /** Withdraws it: the callee is told, the promise rejects with `call_cancelled`. */
  cancel(reason: string): void;
  /** Moves its deadline to so many milliseconds from now. */
  setDeadline(ms: number): void;
}

export type { CallFailureCause } from "./call.ts";

export interface CallOptions {
  /** UUID of the call; made by the engine when absent. */
  readonly invocationId?: string | undefined;
  /** Deadline in milliseconds. Default 30 s. */
  readonly timeoutMs?: number | undefined;
  /** Aborting withdraws the call: the callee is told, the promise rejects with `call_cancelled`. */
  readonly signal?: AbortSignal | undefined;
  /** Called at once with a call that is under way; not when it failed before. */
  readonly onStarted?: ((call: StartedCall) => void) | undefined;
  /** Called before the promise rejects. `cause` is undefined if a provider answered with an error, the deadline passed or the call was cancelled. */
  readonly onFailed?: ((cause: CallFailureCause | undefined) => void) | undefined;
  readonly traceparent?: string | undefined;
  readonly baggage?: string | undefined;
  readonly metadata?: Payload | undefined;
  readonly job?: Job | undefined;
  /** Whom the call is made for, where the caller does it for another, e.g. for who bound a trigger. */
  readonly onBehalfOf?: Principal | undefined;
}

/** What a restricted caller may see and do. A function that lists or names other things asks here. */
export interface CallerAccess {
  /** The same directory without what the caller may not see: functions that it may not call, their triggers, workers of others. */
  visible(directory: Directory): Directory;
  /** Why the caller may not call the function, or only by way of a middleware, as FORBIDDEN; undefined when it may. */
  callRefusal(functionId: string): CallError | undefined;
  /** Whether a connection of the caller's principal has this worker id now. */
  isOwnConnection(workerId: string): boolean;
  /** Why the engine may not call the function on the caller's behalf, e.g. as a job; undefined when it may. Functions of the engine it may never call so. */
  deferRefusal(functionId: string): CallError | undefined;
  /** Why the caller may not bind the function, and what the config names, to an occasion. */
  bindRefusal(trigger: { readonly type: string; readonly functionId: string; readonly config: unknown }): CallError | undefined;
}

/** What a module's function is told besides its input. */
export interface HandlerContext {
  /** The worker that called; undefined when a module or the engine did. */
  readonly caller: Caller | undefined;
  /** Undefined when the caller is not restricted. */
  readonly access: CallerAccess | undefined;
  /** Whom the call is made for. Resources that last are counted for it. */
  readonly principal: Principal;
  /** Aborts when the caller goes, the deadline passes or the module stops. */
  readonly signal: AbortSignal;
  readonly traceparent: string | undefined;
  readonly baggage: string | undefined;
}

export interface FunctionSpec<Input> {
  readonly id: string;
  readonly summary: string;
  /** Left out of lists and counts, unless they are asked for what is internal: another name of a function that is there. */
  readonly internal?: boolean;
  /** The engine parses the payload with it before `handle` runs; a payload that does not fit is answered with `invalid_input`. */
  readonly input: LateSchema<z.ZodType<Input>>;
  /**
   * Members of the payload that `input` is handed unread, as a `Payload`: their text is kept to the digit. `value` is a member of the payload,
   * `items[].value` one of each element of the array `items`. Such a member is JSON, and `input` has nothing of it to check.
   */
  readonly rawMembers?: readonly string[];
  /** Members that `input` does not know are left out, as published clients send such; those whose names are close to known ones are refused all the same. */
  readonly refusesMisspelt?: boolean;
  /** What it answers, for listings and docs. */
  readonly output?: LateSchema<z.ZodType>;
  /** The result is written as JSON; a `Payload` is passed on unread. Throw a CallError to fail with a code. */
  handle(input: Input, context: HandlerContext): Awaitable<unknown>;
}

/** One trigger that a worker asked for, as the module that provides its type sees it. */
export interface TriggerBinding<Settings> {
  /** Stable while the binding lives. */
  readonly id: string;
  /** Equal for equal requests (type, function id, config), over restarts too. */
  readonly key: string;
  readonly functionId: FunctionId;
  readonly settings: Settings;
  /**
   * Who asks for it: the trusted one where a trusted worker does, else the first. What two bindings cannot both have goes to the trusted one,
   * whichever came first. May change while the binding lives.
   */
  readonly principal: Principal;
  /** Calls `listener` when `principal` has become another; one at a time. */
  onPrincipalChange(listener: () => void): Undo;
  /** The last worker that asked for it has gone and may come back: what it would answer is out of service, wherever the function lives. */
  readonly isAway: boolean;
  /**
   * To be read in the undo of `bind`: `withdrawn` when nobody wants it any more, `lapsed` when nobody came back for it in time. Undefined
   * while it lives: then only this module lets go of it.
   */
  readonly ended: "withdrawn" | "lapsed" | undefined;
  /**
   * To be read in the undo of `bind` and when `principal` has changed: the last trusted worker that asked for it took its request back itself.
   * False when that worker went, however long ago, and when the config no longer has it.
   */
  readonly isGivenUp: boolean;
  /** Why none of those who ask for it may see what the function returns; undefined when one of them may. For triggers that show the same. */
  callRefusal(functionId: string): CallError | undefined;
  /** Why the bound function must not be called later on behalf of those who ask for it, e.g. by a job; undefined when it may be. */
  deferRefusal(): CallError | undefined;
  /**
   * Calls the bound function, with the trigger's metadata, to which the members of `options.metadata`, an object, are added. `Payload.absent` when it returned nothing. Rejects
   * with CallError.
   */
  fire(payload: Payload, options?: CallOptions): Promise<Payload>;
  /** False only when the trigger has a `condition_function_id` and that function answered the JSON value `false`. Rejects when it failed. */
  passes(payload: Payload, options?: CallOptions): Promise<boolean>;
  /**
   * Names the functions besides the bound one without which it cannot run, e.g. its condition, instead of those named before. While one
   * of them is not there the binding is shown as inactive.
   */
  needs(functionIds: readonly string[]): void;
  /** Shows the binding as in error, with the reason; undefined takes that back. */
  report(problem: string | undefined): void;
}

export interface TriggerSpec<Settings> {
  /** The trigger type's id, e.g. `http`. */
  readonly type: string;
  readonly summary: string;
  /** Parses a binding's `config`; one that does not fit is refused with `trigger_registration_failed`. */
  readonly settings: z.ZodType<Settings>;
  /** Starts to watch for the occasion. Throwing refuses the binding with the thrown message. */
  bind(binding: TriggerBinding<Settings>): Undo;
}

/** One call of a function that a worker registered with `invocation`: it runs elsewhere than in that worker. */
export interface DelegatedCall {
  /** UUID of the call. */
  readonly id: string;
  readonly functionId: FunctionId;
  /** Whose share of the module's resources the call uses: the function's, or the caller's if only the caller is restricted. */
  readonly principal: Principal;
  /** As it came, not yet known to be JSON. */
  readonly payload: Payload;
  readonly traceparent: string | undefined;
  readonly baggage: string | undefined;
  /** Aborts when the caller goes or the deadline passes; the answer is no longer wanted then. */
  readonly signal: AbortSignal;
}

/** Runs one call. Resolves with undefined when the function answered nothing; rejects with CallError. */
export type RunDelegatedCall = (call: DelegatedCall) => Promise<Payload | undefined>;

/** Runs the functions that workers register with `invocation`. */
export interface InvocationRunner {
  /** Judges the `invocation` of a registration. Throws CallError to refuse it: the worker is told its code and message. */
  accept(functionId: FunctionId, invocation: unknown, registrar: Registrar): RunDelegatedCall;
}

/** Who registers a function. */
export interface Registrar {
  /** A restricted one may do only what its role allows, and does not get the engine's own secrets. */
  readonly principal: Principal;
}

export interface HttpMount {
  /** Paths that begin with this go to `handle`; the longest prefix wins. `/` takes what no other mount takes. */
  readonly prefix: string;
  /** True when the mount itself bounds how long a body may take to come. Otherwise the whole request has 60 s. */
  readonly boundsBodies?: boolean;
  /** `path` is the pathname as sent, still percent-encoded, without query. Rejections are answered with 500 and logged. */
  handle(request: IncomingMessage, response: ServerResponse, path: string): Awaitable<void>;
}

/** A listener of a module's own, beside the engine's. */
export interface ListenOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** For what, in messages, e.g. `OTLP`. */
  readonly what: string;
  /** Requests that passed the guards. Rejections are answered with 500 and logged. */
  onRequest(request: IncomingMessage, response: ServerResponse): Awaitable<void>;
}

export interface ModuleListener {
  /** The port that is bound. */
  readonly port: number;
  /** Cuts whatever is open. */
  close(): void;
}

/** One item of a channel: a WebSocket frame with its kind and its boundaries. */
export type ChannelItem = { readonly kind: "text"; readonly text: string } | { readonly kind: "binary"; readonly bytes: Buffer };

/** The reading end of a channel, held by a module. */
export interface ChannelReader {
  /** The next item, in order; undefined when there will be none, then look at `ended`. One read at a time. */
  read(): Promise<ChannelItem | undefined>;
  /** Wants no more: what waits is dropped, and the writer's end is cut off. */
  cancel(): void;
  /** `finished` and `torn` once everything is read: the writer ended it, or it broke off and what was read is not the whole. */
  readonly ended: "open" | "finished" | "torn";
}

/** The writing end of a channel, held by a module. */
export interface ChannelWriter {
  /** Adds an item; resolves when there is room for the next one, with false when the reader is gone. One write at a time. */
  write(item: ChannelItem): Promise<boolean>;
  /** Ends the stream; the reader still gets what waits. */
  end(): void;
  /** Breaks the stream off: the reader gets what waits, and then learns that it is not the whole. */
  abort(reason: string): void;
  /** Calls `listener` once when the reader leaves or the channel is taken down. */
  onClosed(listener: () => void): Undo;
}

/**
 * One stream of items from one writer to one reader, bounded and back-pressured. Each end is taken once, by a module here or by
 * whoever opens the WebSocket that a ref names.
 */
export interface Channel {
  readonly readerRef: ChannelRef;
  readonly writerRef: ChannelRef;
  /** Throws TypeError when the end was taken before. */
  takeReader(): ChannelReader;
  takeWriter(): ChannelWriter;
  /** True once someone holds that end. */
  readonly readerIsTaken: boolean;
  readonly writerIsTaken: boolean;
  /** Takes the channel down, whatever its ends are doing. */
  close(reason: string): void;
}

/** Items that a channel may hold for its reader, at most. */
export const MAX_BUFFER_ITEMS = 1_024;

export interface ChannelOptions {
  /** Items that may wait for the reader, 1 to 1,024. Default 64; bytes are bounded as well. */
  readonly bufferItems?: number | undefined;
  /** Who the channel is made for. A worker's goes with its connection, another module's with this module. */
  readonly ownedBy?: Caller | undefined;
}

/** What is asked for by `UnownedTriggers.register`. */
export interface UnownedTrigger {
  readonly triggerType: string;
  readonly functionId: string;
  readonly config: unknown;
  readonly metadata: unknown;
}

/** Bindings that belong to no connection: they outlive whoever asked for them, but not the engine. At most 10,000, of one restricted principal 1,250. */
export interface UnownedTriggers {
  /**
   * Resolves with the binding's id when it is bound, when it waits for its type, or when the worker that provides the type has
   * said nothing for 10 s. Rejects with CallError when it is refused; then it is gone.
   */
  register(trigger: UnownedTrigger, caller: Caller | undefined): Promise<string>;
  /**
   * Removes such a binding, or one that `caller` asked for over its own connection. False when there is no binding of this id;
   * throws CallError `FORBIDDEN` when it is another worker's, or, to a restricted caller, of another owner's making.
   */
  remove(id: string, caller: Caller | undefined): boolean;
}

/** A channel to read and one to write for whoever is told id and key. Neither is made until someone comes for it. */
export interface ChannelOffer {
  /** Secret, e.g. a random UUID. */
  readonly key: string;
  /** Someone came to read: what is to be read goes into `writer`. `close` takes the channel down. */
  onReader(writer: ChannelWriter, close: (reason: string) => void): void;
  /** Someone came to write. */
  onWriter(reader: ChannelReader, close: (reason: string) => void): void;
}

/** Addresses that requests of the engine's own may go to. */
export interface OutboundRules {
  /** Host globs and URL patterns; empty allows every address. */
  readonly urlAllowlist: readonly string[];
  readonly blockPrivateIps: boolean;
  readonly requireHttps: boolean;
}

/** Public addresses over https. */
export const STRICT_OUTBOUND_RULES: OutboundRules = { urlAllowlist: [], blockPrivateIps: true, requireHttps: true };

/** All of the engine that a module can see. Whatever is made through it is undone when the module stops. */
export interface ModuleContext<Config> {
  readonly config: Config;
  readonly log: Logger;
  readonly clock: Clock;
  /** Aborts when the grace period of a stop ends. */
  readonly signal: AbortSignal;
  /** Aborts when the engine begins to shut down: a module that starts work by itself starts nothing more, and finishes what it has in hand. */
  readonly draining: AbortSignal;
  /** Who the engine is; `instanceId` is another after each start. */
  readonly identity: { readonly version: string; readonly instanceId: string };
  /** Where the engine may send requests that somebody on the wire asked for (`engine.http_functions`). Read it at each use. */
  readonly outboundRules: OutboundRules;
  /** Absolute path of the data folder, e.g. `/project/.svc/data`. Exists. */
  readonly dataDir: string;
  /**
   * True in production mode, and while a listener can be reached from other machines: what a failure says may then be read by strangers.
   * Read it at each use, since the config may change.
   */
  readonly production: boolean;
  /** Read-only view of workers, functions, triggers and counters, with changes as they happen. */
  readonly directory: Directory;
  /** Whose function it is now; undefined while nobody provides it. */
  readonly providerOf: (functionId: string) => Principal | undefined;
  /** Calls a function wherever it lives. Rejects with CallError. */
  call(functionId: string, payload: Payload, options?: CallOptions): Promise<Payload>;
  provideFunction<Input>(spec: FunctionSpec<Input>): Undo;
  provideTrigger<Settings>(spec: TriggerSpec<Settings>): Undo;
  /**
   * Reserves a function that the config or a trusted caller names and that this module calls later: restricted connections may register it only below their
   * own prefix. Who provides it at present keeps it.
   */
  reserveFunction(functionId: string): Undo;
  /**
   * Reserves a function as `reserveFunction` does, over restarts of the engine and until a trusted worker registers it. For what is stored, e.g. jobs. No
   * effect if `caller` is a module or restricted, or if a restricted connection provides the function: then it may provide it later, too.
   */
  rememberFunction(functionId: string, caller?: Caller): void;
  /** Takes over the functions that workers register with `invocation`. One module at a time does; without any such registrations are refused. */
  runInvocations(runner: InvocationRunner): Undo;
  /** Makes a channel. Throws CallError `overloaded` when too many are open. */
  createChannel(options?: ChannelOptions): Channel;
  /**
   * Takes the reading end that a payload names. Throws CallError `NOT_FOUND` when the ref opens nothing or its end was taken before, `invalid_input`
   * for the ref of a writing end.
   */
  takeChannelReader(ref: ChannelRef): ChannelReader;
  /** Asks `find` for channels that are made only when a worker comes for them; ids are UUIDs. */
  resolveChannels(find: (id: string) => ChannelOffer | undefined): Undo;
  readonly unownedTriggers: UnownedTriggers;
  /** Whether the config has the role, and a token that gives it. What somebody left behind must not run when his role was removed. */
  isRoleInForce(role: string): boolean;
  /** What a connected worker may see and do; undefined when it is not restricted. For what is told to workers without being asked. */
  accessOf(workerId: string): CallerAccess | undefined;
  /** Routes on the engine's HTTP listener (3111). */
  mountHttp(mount: HttpMount): Undo;
  /**
   * Listens for HTTP at an address of the module's own. Guarded as the engine's listeners are: Host and Origin, the engine's token off loopback and
   * in production, caps and time limits. Rejects with an error that says which address and why.
   */
  listen(options: ListenOptions): Promise<ModuleListener>;
  /** Streams on the engine's real-time listener (3112). */
  readonly streams: Streams;
  /** Spans and log entries of this module's own work. */
  readonly telemetry: Telemetry;
  /** While `problem` answers a sentence, `/readyz` answers 503 and lists it. For what is not there yet; what is unwell is reported as health. */
  reportReadiness(problem: () => string | undefined): Undo;
  /** Names of configured workers that are installing, starting or restarting: what they serve may not be registered yet. */
  reportStartingWorkers(names: () => readonly string[]): Undo;
  startingWorkers(): readonly string[];
  /**
   * Says how a component is whenever somebody asks; several modules may speak for one, and the worst counts. `/readyz` answers 503 while one is
   * unhealthy, and `engine::health::check` shows all. `component` e.g. `store`, `adapters`, `queues`.
   */
  reportHealth(component: string, probe: HealthProbe): Undo;
  /** What all modules report of health. */
  health(): readonly ComponentReport[];
}
