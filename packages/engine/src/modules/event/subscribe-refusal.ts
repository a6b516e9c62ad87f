import { CallError } from "@svc-runtime/protocol";
import type { TriggerBinding } from "../../kernel/module.ts";
import type { SubscriptionSettings } from "./trigger-settings.ts";

/** A caller that may call one of these functions may subscribe to events. */
const SUBSCRIBE_RIGHTS = ["event::list", "event::emit", "publish"];
/**
 * Events on changes of state contain the values that this function returns, so their subscribers need the right to call
 * it.
 */
const READS_VALUES = "state::get";

/**
 * Returns why the subscriber may not get the event, or undefined if it may. `isState`: the event is a change of state.
 */
export function subscribeRefusal(
  binding: Pick<TriggerBinding<SubscriptionSettings>, "callRefusal" | "principal">,
  isState: boolean,
): CallError | undefined {
  if (binding.principal.isTrusted) return undefined;
  const refusals = SUBSCRIBE_RIGHTS.map((id) => binding.callRefusal(id));
  if (refusals.every((refusal) => refusal !== undefined)) {
    return new CallError(
      "FORBIDDEN",
      `triggers on events require the right to call one of ${SUBSCRIBE_RIGHTS.join(", ")}, which this connection may not`,
    );
  }
  const refusal = isState ? binding.callRefusal(READS_VALUES) : undefined;
  if (refusal === undefined) return undefined;
  return new CallError(
    "FORBIDDEN",
    `an event on a change of state contains what ${READS_VALUES} returns, which this connection may not call: ${refusal.message}`,
  );
}
