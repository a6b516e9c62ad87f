import { channelRefSchema } from "@svc-runtime/protocol";
import { z } from "zod";
import { defineModule, MAX_BUFFER_ITEMS, type Module, type ModuleContext } from "../../kernel/module.ts";
import { provideAvailabilityTriggers } from "./availability.ts";
import { provideBaggage } from "./baggage.ts";
import { type EffectiveConfig, provideEffectiveConfig } from "./effective-config.ts";
import { provideFunctionListings } from "./functions.ts";
import { type NodeSources, provideNodeListing } from "./nodes.ts";
import { provideBindingListings } from "./registered-triggers.ts";
import { provideStreamListing } from "./streams.ts";
import { provideTriggerTypeListings } from "./triggers.ts";
import { provideWorkerListings } from "./workers.ts";

export type { EffectiveConfig } from "./effective-config.ts";
export type { NodeFacts } from "./nodes.ts";

/** Result of `engine::info`. */
export interface EngineInfo {
  readonly version: string;
  /** Changes at every start. */
  readonly instance_id: string;
  readonly pid: number;
  /** In production every client needs a token. */
  readonly mode: "development" | "production";
  readonly started_at_ms: number;
  /** Absolute path of the config file in use. */
  readonly config_file: string;
  readonly data_dir: string;
  readonly logs_dir: string;
  readonly addresses: { readonly bridge: string; readonly http: string; readonly realtime: string };
  readonly features: readonly string[];
  readonly modules: readonly { readonly name: string; readonly state: string; readonly reason: string | null }[];
}

const channelInput = z.object({ buffer_size: z.int().min(1).max(MAX_BUFFER_ITEMS).nullish() });

const NO_CONFIG: EffectiveConfig = { file: "", settings: [], modules: [], workers: [], warnings: [] };

/** The functions by which the CLI, the console and workers inspect the engine. */
export function engineFunctions(
  info: () => EngineInfo,
  options: { readonly config?: () => EffectiveConfig; readonly nodes?: NodeSources } = {},
): Module<unknown> {
  return defineModule({
    name: "engine-functions",
    summary: "Inspects the running engine",
    config: z.unknown(),
    start(context) {
      context.provideFunction({
        id: "engine::info",
        summary: "Versions, addresses and files of the running engine",
        input: z.looseObject({}),
        handle: () => info(),
      });
      provideEffectiveConfig(context, options.config ?? (() => NO_CONFIG));
      provideFunctionListings(context);
      provideWorkerListings(context);
      provideTriggerTypeListings(context);
      provideBindingListings(context);
      provideStreamListing(context);
      provideNodeListing(context, info, options.nodes);
      provideChannels(context);
      provideBaggage(context);
      const stop = provideAvailabilityTriggers(context);
      return { stop };
    },
  });
}

function provideChannels({ provideFunction, createChannel }: ModuleContext<unknown>): void {
  provideFunction({
    id: "engine::channels::create",
    summary: "Creates a channel: a stream of items from one writer to one reader",
    input: channelInput,
    output: z.object({ writer: channelRefSchema, reader: channelRefSchema }),
    handle: ({ buffer_size }, { caller }) => {
      const channel = createChannel({ bufferItems: buffer_size ?? undefined, ownedBy: caller });
      return { writer: channel.writerRef, reader: channel.readerRef };
    },
  });
}
