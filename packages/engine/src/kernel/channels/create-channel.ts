import { CallError } from "@svc-runtime/protocol";
import { TRUSTED } from "../../access/principal.ts";
import type { Quotas } from "../../access/quotas.ts";
import type { Channel, ChannelOptions } from "../module.ts";
import { isModule } from "../module-provider.ts";
import type { Scope } from "../scope.ts";
import type { Sessions } from "../sessions.ts";
import type { Channels } from "./channels.ts";
import { localReader, localWriter } from "./local-ends.ts";

/** Maximum number of open channels that a module creates for one trusted worker or for one other module. */
const MAX_CHANNELS_PER_OWNER = 2_000;
/** The same limit for one restricted worker. `Quotas` also limits the channels of its principal. */
const MAX_CHANNELS_PER_RESTRICTED = 500;

/** Number of open channels by the scope of their owner. */
const openIn = new WeakMap<Scope, number>();

export interface ChannelPorts {
  readonly channels: Channels;
  readonly sessions: Sessions;
  readonly quotas: Quotas;
}

/** Creates a channel that ends with its owner: the module, or the worker for which the module creates it. */
export function createChannel(
  options: ChannelOptions,
  scope: Scope,
  { channels, sessions, quotas }: ChannelPorts,
): Channel {
  const { ownedBy } = options;
  const owner = ownedBy === undefined || isModule(ownedBy.worker_id) ? scope : sessions.byId(ownedBy.worker_id)?.scope;
  if (owner === undefined)
    throw new CallError("invocation_stopped", "the worker that requested the channel has disconnected");
  const principal = (ownedBy === undefined ? undefined : sessions.byId(ownedBy.worker_id)?.principal) ?? TRUSTED;
  const open = openIn.get(owner) ?? 0;
  const limit = principal.isTrusted ? MAX_CHANNELS_PER_OWNER : MAX_CHANNELS_PER_RESTRICTED;
  if (ownedBy !== undefined && open >= limit) {
    throw new CallError("overloaded", `this worker has ${limit} channels open, which is the limit; close unused ones`);
  }
  const problem = quotas.channels.problemOf(principal);
  if (problem !== undefined) throw new CallError("overloaded", `${problem}; close unused ones`);
  let forget = (): void => {};
  const channel = channels.create({
    bufferItems: options.bufferItems,
    onOver: () => {
      openIn.set(owner, (openIn.get(owner) ?? 1) - 1);
      quotas.channels.release(principal);
      forget();
    },
  });
  quotas.channels.add(principal);
  openIn.set(owner, open + 1);
  forget = owner.add(() => channels.ownerLeft(channel));
  return {
    readerRef: channel.ref("read"),
    writerRef: channel.ref("write"),
    takeReader: () => localReader(channel),
    takeWriter: () => localWriter(channel),
    get readerIsTaken() {
      return channel.readerIsTaken;
    },
    get writerIsTaken() {
      return channel.writerIsTaken;
    },
    close: (reason) => channel.destroy(reason),
  };
}
