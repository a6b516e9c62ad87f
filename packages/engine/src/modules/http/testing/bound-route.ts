import type { FunctionId } from "@svc-runtime/protocol";
import { type Principal, TRUSTED } from "../../../access/principal.ts";
import { type RouteSettings, routeSettingsSchema } from "../routing/route-settings.ts";
import type { RouteBinding } from "../routing/routes.ts";

/** A binding of an http trigger for tests of the route table. */
export interface Bound extends RouteBinding {
  /** The last reported problem. */
  problem: string | undefined;
  /** How often a problem was reported. */
  reports: number;
  principal: Principal;
  /** False for a worker that disconnects without unregistering its trigger. */
  isGivenUp: boolean;
  awaitsOwner: boolean;
  /** As the kernel does when owners were added or removed. */
  become(principal: Principal): void;
  /** As the kernel does when the worker disconnected, or came back. */
  setAway(isAway: boolean): void;
}

/** Registered by a trusted worker. */
export function binding(functionId: string, apiPath: string, more: Partial<RouteSettings> = {}): Bound {
  let tell = (): void => {};
  let tellAway = (): void => {};
  const bound: Bound = {
    id: functionId,
    key: functionId,
    functionId: functionId as FunctionId,
    settings: { ...routeSettingsSchema.parse({ api_path: apiPath }), ...more },
    problem: undefined,
    reports: 0,
    principal: TRUSTED,
    isAway: false,
    isElsewhere: false,
    awaitsOwner: false,
    ended: undefined,
    isGivenUp: true,
    callRefusal: () => undefined,
    deferRefusal: () => undefined,
    onPrincipalChange(listener) {
      tell = listener;
      return () => {};
    },
    onAwayChange(listener) {
      tellAway = listener;
      return () => {};
    },
    become(principal) {
      bound.principal = principal;
      tell();
    },
    setAway(isAway) {
      bound.awaitsOwner = isAway;
      tellAway();
    },
    fire: () => Promise.reject(new Error("a route table fires nothing")),
    call: () => Promise.reject(new Error("a route table calls nothing")),
    passes: () => Promise.reject(new Error("a route table asks nothing")),
    needs: () => {},
    report(problem) {
      bound.problem = problem;
      bound.reports++;
    },
  };
  return bound;
}
