import { CallError } from "@svc/protocol";
import type { TriggerBinding } from "../../kernel/module.ts";
import type { SubscriptionSettings } from "./trigger-settings.ts";

/** Who may call one of them may listen. */
const LISTENS = ["event::list", "event::emit", "publish"];
/** Events on changes of state tell what this would. */
const READS_VALUES = "state::get";

/** Where access is restricted: why the subscriber may not be told; undefined when it may. `isState`: of a change of state. */
export function refusalToListen(binding: Pick<TriggerBinding<SubscriptionSettings>, "callRefusal" | "principal">, isState: boolean): CallError | undefined {
  if (binding.principal.isTrusted) return undefined;
  const refusals = LISTENS.map((id) => binding.callRefusal(id));
  if (refusals.every((refusal) => refusal !== undefined)) {
    return new CallError("FORBIDDEN", `triggers on events are for who may call one of ${LISTENS.join(", ")}, which this connection may not`);
  }
  const refusal = isState ? binding.callRefusal(READS_VALUES) : undefined;
  if (refusal === undefined) return undefined;
  return new CallError("FORBIDDEN", `an event on a change of state tells what ${READS_VALUES} would, which this connection may not call: ${refusal.message}`);
}
