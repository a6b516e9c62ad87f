import { CallError, type FunctionId } from "@svc-runtime/protocol";
import type { Registry } from "../registry.ts";
import type { Session } from "../session.ts";

/**
 * Warns if a worker of another name provides the function too. The calls are then distributed to both workers. This is
 * meant for replicas only, and replicas have the same name. Published clients get no warning for two reasons: they do
 * not know this message, and their replicas have different names by default.
 */
export function reportSharedFunction(id: FunctionId, session: Session, registry: Registry): void {
  const { name, features } = session;
  if (name === "" || features.size === 0) return;
  const other = registry.find(id)?.registrations.find(({ provider }) => provider.name !== name && provider.name !== "");
  if (other === undefined) return;
  const otherName = other.provider.name;
  session.warn("workers of different names provide the same function", {
    functionId: id,
    worker: name,
    otherWorker: otherName,
  });
  const message = `the worker ${otherName} provides function ${id} too, so calls go to ${name} or to ${otherName}; give one of the functions another id, or replicas of one worker the same name`;
  session.sendError(
    new CallError("function_shared", message, { details: { message_type: "registerfunction", id, worker: otherName } }),
  );
}
