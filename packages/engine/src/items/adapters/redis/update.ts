import { CallError } from "@svc-runtime/protocol";
import type { Conflict, ItemUpdate, ItemUpdated, ItemWrite } from "../../item-store.ts";
import { planWrite, tooLargeText } from "../../plan-write.ts";
import type { RequestHandle, Settle } from "./connection.ts";
import { itemOf } from "./record.ts";
import { scripts } from "./script.ts";
import {
  type OneReply,
  oneSet,
  refusalOf,
  type WriteContext,
  type WriteReply,
  writeArguments,
  writtenOf,
} from "./write.ts";

export interface UpdateRequest {
  readonly scope: string;
  readonly key: string;
  readonly update: ItemUpdate;
  readonly write: ItemWrite;
}

export interface UpdateTools extends WriteContext {
  readonly request: RequestHandle;
  readonly settle: Settle<ItemUpdated | Conflict>;
  /** Must be called when the next write of the item may start. */
  readonly release: () => void;
}

/**
 * Reads the item, applies the operations, and writes the result if the version has not changed. If it has, tries again
 * until the request's deadline.
 */
export function updateItem(
  { scope, key, update, write }: UpdateRequest,
  { prefix, owner, setByMs, request, settle, release }: UpdateTools,
): void {
  function attempt(): void {
    if (request.isOver) {
      release();
      return;
    }
    request.command("HGET", [`${prefix}items:${scope}`, key], (error, reply) => {
      if (error === undefined) step(() => apply(reply as string | null));
      else step(() => fail(error));
    });
  }

  function apply(record: string | null): void {
    const old = record === null ? undefined : itemOf(key, record, setByMs);
    const plan = planWrite(old, { scope, key }, { type: "update", update }, write, () => 0);
    if (plan.status === "conflict") {
      finish(plan);
    } else if (plan.status === "too_large") {
      fail(
        new CallError("payload_too_large", tooLargeText(plan.bytes, update.maxBytes), {
          details: { bytes: plan.bytes, limit: update.maxBytes },
        }),
      );
    } else if (plan.row !== "put" || plan.item === undefined) {
      finish({ status: plan.status, item: plan.item, previous: plan.previous, changes: [], errors: plan.errors });
    } else {
      const one = oneSet(scope, key, plan.item, write);
      request.run(
        scripts.write,
        writeArguments({ prefix, owner, setByMs }, [one], old?.version ?? 0),
        (error, reply) => {
          if (error !== undefined) step(() => fail(error));
          else
            step(() =>
              conclude(reply as WriteReply, (done) => ({ ...writtenOf(one, done, setByMs), errors: plan.errors })),
            );
        },
      );
    }
  }

  function conclude(reply: WriteReply, read: (done: OneReply | undefined) => ItemUpdated): void {
    if (reply[0] === "moved") attempt();
    else if (reply[0] === "conflict") finish({ status: "conflict", actual: Number(reply[2]) });
    else if (reply[0] === "done") finish(read(reply[1]));
    else fail(refusalOf(reply));
  }

  function finish(answer: ItemUpdated | Conflict): void {
    settle.resolve(answer);
    release();
  }

  function fail(error: unknown): void {
    settle.reject(error);
    release();
  }

  /** Runs a step. If it throws, the update fails, so that it does not block the next update of the item. */
  function step(action: () => void): void {
    try {
      action();
    } catch (thrown) {
      fail(thrown);
    }
  }

  attempt();
}
