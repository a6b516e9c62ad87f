import { expect, it } from "vitest";
import { ANONYMOUS } from "../../kernel/access/grants.ts";
import { policyOf } from "../../kernel/access/policy.ts";
import { SessionAccess } from "../../kernel/access/session-access.ts";
import { serve, site } from "./testing/site.ts";

const HOOKS = { onFunctionRegistrationFunctionId: undefined, onTriggerRegistrationFunctionId: undefined, onTriggerTypeRegistrationFunctionId: undefined };

it("describes to a restricted caller only the routes of functions that it may know of (gap 56)", async () => {
  const { engine, worker } = await site();
  await serve(worker, "/open", () => 1);
  await serve(worker, "/secret", () => 1);
  const rbac = { authFunctionId: undefined, exposeFunctions: ['match("engine::*")', 'match("test::/open")'], roles: [], tokens: [], ...HOOKS };
  const access = new SessionAccess(ANONYMOUS, policyOf({ tokenRequired: false, rbac, middlewareFunctionId: undefined }));
  const guest = await engine.connectWorker({ access });

  const seenBy = async (caller: typeof guest): Promise<string[]> => {
    const { result } = (await caller.call("engine::http::openapi")) as { result: { paths: Record<string, unknown> } };
    return Object.keys(result.paths);
  };
  expect([await seenBy(guest), await seenBy(worker)]).toEqual([["/open"], ["/open", "/secret"]]);
});
