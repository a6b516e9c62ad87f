import { CallError, type FunctionId, type TriggerTypeId } from "@svc-runtime/protocol";
import { isSamePrincipal } from "../access/principal.ts";
import type { ReservedIds } from "../access/reserved-ids.ts";
import type { Clock } from "./clock.ts";
import type { Registry } from "./registry.ts";
import type { Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";
import type { TriggerRegistry } from "./triggers/trigger-registry.ts";

/** Delay before the unregistered id of a trusted worker becomes free, in milliseconds. */
const RELEASE_AFTER_MS = 60_000;

interface OwnershipParts {
  readonly registry: Registry;
  readonly sessions: Sessions;
  readonly triggers: TriggerRegistry;
  readonly reservedIds: ReservedIds;
  readonly clock: Clock;
}

/** A connection that registers an id, or another node on behalf of its trusted workers. */
type Registrar = Pick<Session, "principal" | "access">;

/**
 * Decides which principal may register an id. Withdraws ids from restricted connections if a trusted one needs them.
 */
export class IdOwnership {
  readonly #parts: OwnershipParts;

  constructor(parts: OwnershipParts) {
    this.#parts = parts;
  }

  /** Returns a reason if the function id is reserved, so that the restricted connection may not register it. */
  reservationProblem(id: FunctionId, { access, principal }: Session): string | undefined {
    return this.#parts.reservedIds.refusalOfFunction(id, access?.grants.prefix, principal.id);
  }

  /**
   * Returns why the session may not register the function id. Workers may provide one function together only if they
   * have the same principal. A restricted connection cannot join another principal's function; a trusted one takes the
   * id over from restricted ones.
   */
  claimFunction(id: FunctionId, session: Registrar): string | undefined {
    if (session.principal.isTrusted) {
      this.withdrawFromRestricted(id, "was taken over by a trusted worker");
      this.#parts.reservedIds.remember("function", id);
      return undefined;
    }
    const isTaken = this.#parts.registry
      .find(id)
      ?.registrations.some(({ provider }) => !isSamePrincipal(provider.principal, session.principal));
    if (isTaken) return `${id} belongs to another principal`;
    if (this.#parts.reservedIds.isOfTrusted("function", id)) return `${id} belongs to a trusted worker that is away`;
    // Ids with the prefix of a connection belong to its principal in any case.
    return session.access?.grants.prefix === undefined ? this.#refusalOfUnknown(id) : undefined;
  }

  /**
   * Like `claimFunction`, for a trigger type. Without this check a standby provider would get all bindings of another
   * principal as soon as the other principal's provider disconnects.
   */
  claimTriggerType(id: TriggerTypeId, session: Registrar): string | undefined {
    const providers = this.#parts.triggers.entriesOf(id).map(({ provider }) => provider);
    if (session.principal.isTrusted) {
      for (const { principal, workerId } of providers) {
        if (principal.isTrusted) continue;
        const restricted = this.#parts.sessions.byId(workerId);
        restricted?.withdrawTriggerType(id);
        restricted?.sendError(withdrawn("registertriggertype", id, "was taken over by a trusted worker"));
      }
      this.#parts.reservedIds.remember("trigger type", id);
      return undefined;
    }
    const isTaken = providers.some(({ principal }) => !isSamePrincipal(principal, session.principal));
    if (isTaken) return `the trigger type ${id} belongs to another principal`;
    if (this.#parts.reservedIds.isOfTrusted("trigger type", id))
      return `the trigger type ${id} belongs to a trusted worker that is away`;
    return this.#refusalOfUnknown(`the trigger type ${id}`);
  }

  /** Releases a function that the session unregistered. Restricted connections may register it a minute later. */
  releaseFunction(id: FunctionId, session: Session): void {
    this.#releaseLater(session, () => {
      if (this.#parts.registry.find(id) === undefined) this.#parts.reservedIds.release("function", id);
    });
  }

  /** Like `releaseFunction`, for a trigger type. */
  releaseTriggerType(id: TriggerTypeId, session: Session): void {
    this.#releaseLater(session, () => {
      if (this.#parts.triggers.typeById(id) === undefined) this.#parts.reservedIds.release("trigger type", id);
    });
  }

  /**
   * Calls `release` after a minute, unless the worker shuts down: SDKs unregister everything at shutdown, and the ids
   * of a stopped worker must stay reserved. There are two signs of a shutdown: the connection ends within the minute,
   * or it has no functions left after the minute, because it only finishes its last calls.
   */
  #releaseLater(session: Session, release: () => void): void {
    if (!session.principal.isTrusted) return;
    const cancel = session.scope.add(
      this.#parts.clock.after(RELEASE_AFTER_MS, () => {
        cancel();
        if (session.functions.size > 0) release();
      }),
    );
  }

  /** Returns why a restricted connection may not have an id that may belong to a disconnected trusted worker. */
  #refusalOfUnknown(what: string): string | undefined {
    const { problem } = this.#parts.reservedIds;
    return problem === undefined ? undefined : `${what} may belong to a trusted worker: ${problem}`;
  }

  /**
   * Withdraws the function from restricted connections that provide it. `reason` completes a sentence that begins with
   * the id.
   */
  withdrawFromRestricted(id: FunctionId, reason: string): void {
    const restricted =
      this.#parts.registry.find(id)?.registrations.filter(({ provider }) => !provider.principal.isTrusted) ?? [];
    for (const { provider } of restricted) {
      const session = this.#parts.sessions.byId(provider.workerId);
      session?.withdrawFunction(id);
      session?.sendError(withdrawn("registerfunction", id, reason));
    }
  }
}

function withdrawn(messageType: string, id: string, reason: string): CallError {
  return new CallError("registration_refused", `${id} ${reason}`, { details: { message_type: messageType, id } });
}
