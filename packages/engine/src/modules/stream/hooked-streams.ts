import { CallError, Payload } from "@svc-runtime/protocol";
import { opsJson } from "../../items/update-op.ts";
import type { CallOptions } from "../../kernel/module.ts";
import { deletedByHook, groupsOfHook, listedByHook, valueOfHook, writtenByHook } from "./hook-results.ts";
import type { HookedOperation, Hooks } from "./hooks.ts";
import type { Cause, GroupAddress, ItemAddress, StreamBackend, Update, WriteChoices } from "./stream-backend.ts";
import type { StreamEvents } from "./stream-events.ts";

export interface HookedStreamsOptions {
  readonly hooks: Hooks;
  readonly events: StreamEvents;
  readonly call: (id: string, payload: Payload, options: CallOptions) => Promise<Payload>;
}

/**
 * Streams whose items are stored by functions of workers. Every write is published, because only the function knows
 * whether anything changed. The event is `create` if the function returns no old value, otherwise `update`. Items have
 * no versions.
 */
export class HookedStreams implements StreamBackend {
  readonly #hooks: Hooks;
  readonly #events: StreamEvents;
  readonly #callFunction: HookedStreamsOptions["call"];

  constructor({ hooks, events, call }: HookedStreamsOptions) {
    this.#hooks = hooks;
    this.#events = events;
    this.#callFunction = call;
  }

  async get(address: ItemAddress, cause: Cause): Promise<Payload> {
    const { id, answer } = await this.#call("get", address.stream, itemInput(address), cause);
    return valueOfHook(id, answer);
  }

  async set(address: ItemAddress, data: Payload, choices: WriteChoices, cause: Cause): Promise<Payload> {
    const input = `${itemInput(address)}${choicesInput(choices)},"data":${data.text()}`;
    return this.#written(address, await this.#call("set", address.stream, input, cause), cause);
  }

  async update(address: ItemAddress, update: Update, cause: Cause): Promise<Payload> {
    const atomic = update.atomic ? "" : ',"atomic":false';
    const input = `${itemInput(address)}${choicesInput(update)}${atomic},"ops":${opsJson(update.ops)}`;
    return this.#written(address, await this.#call("update", address.stream, input, cause), cause);
  }

  async delete(address: ItemAddress, choices: Pick<WriteChoices, "ifVersion">, cause: Cause): Promise<Payload> {
    const input = `${itemInput(address)}${choicesInput({ ...choices, expiresInMs: undefined })}`;
    const { id, answer } = await this.#call("delete", address.stream, input, cause);
    const previous = deletedByHook(id, answer);
    if (previous === undefined) return Payload.fromText('{"old_value":null}');
    const seq = this.#events.publish({ ...address, type: "delete", json: previous, version: undefined }, cause);
    return Payload.fromText(`{"old_value":${previous},"seq":${seq}}`);
  }

  async list(address: GroupAddress, cause: Cause): Promise<Payload> {
    const { id, answer } = await this.#call("list", address.stream, groupInput(address), cause);
    return listedByHook(id, answer);
  }

  async listGroups(stream: string, cause: Cause): Promise<readonly string[]> {
    const { id, answer } = await this.#call("list_groups", stream, `"stream_name":${JSON.stringify(stream)}`, cause);
    return groupsOfHook(id, answer);
  }

  async getEntry({ stream }: ItemAddress): Promise<Payload> {
    throw notSupported("get_entry", stream);
  }

  async entries({ stream }: GroupAddress): Promise<Payload> {
    throw notSupported("entries", stream);
  }

  /** `members` is the JSON of the function's input without braces. */
  async #call(
    operation: HookedOperation,
    stream: string,
    members: string,
    cause: Cause,
  ): Promise<{ readonly id: string; readonly answer: Payload }> {
    const id = this.#hooks.functionFor(operation, stream);
    const { traceparent, baggage, signal } = cause;
    const answer = await this.#callFunction(id, Payload.fromText(`{${members}}`), { traceparent, baggage, signal });
    return { id, answer };
  }

  #written(
    address: ItemAddress,
    { id, answer }: { readonly id: string; readonly answer: Payload },
    cause: Cause,
  ): Payload {
    const { previous, json } = writtenByHook(id, answer);
    const seq = this.#events.publish(
      { ...address, type: previous === undefined ? "create" : "update", json, version: undefined },
      cause,
    );
    return Payload.fromText(`{"old_value":${previous ?? "null"},"new_value":${json},"seq":${seq}}`);
  }
}

function groupInput({ stream, group }: GroupAddress): string {
  return `"stream_name":${JSON.stringify(stream)},"group_id":${JSON.stringify(group)}`;
}

function itemInput(address: ItemAddress): string {
  return `${groupInput(address)},"item_id":${JSON.stringify(address.id)}`;
}

function choicesInput({ ifVersion, expiresInMs }: WriteChoices): string {
  return `${ifVersion === undefined ? "" : `,"if_version":${ifVersion}`}${expiresInMs === undefined ? "" : `,"expires_in_ms":${expiresInMs}`}`;
}

function notSupported(operation: string, stream: string): CallError {
  return new CallError(
    "invalid_input",
    `stream::${operation} is not supported for the stream ${JSON.stringify(stream)}: its items are stored by functions of a worker`,
  );
}
