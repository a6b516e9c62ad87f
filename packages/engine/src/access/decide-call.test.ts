import { describe, expect, it } from "vitest";
import { callRefusal } from "./decide-call.ts";
import { ANONYMOUS, authResultSchema, type Grants, grantsOfAuthResult, grantsOfRole } from "./grants.ts";
import { policyOf } from "./policy.ts";
import type { ExposeSetting, RoleSettings } from "./settings.ts";

function policy(exposeFunctions: readonly ExposeSetting[] | undefined) {
  const rbac = exposeFunctions && {
    authFunctionId: undefined,
    exposeFunctions,
    onFunctionRegistrationFunctionId: undefined,
    onTriggerRegistrationFunctionId: undefined,
    onTriggerTypeRegistrationFunctionId: undefined,
    roles: [],
    tokens: [],
  };
  return policyOf({ tokenRequired: false, rbac, middlewareFunctionId: undefined });
}

const granted = (result: Record<string, unknown>): Grants =>
  grantsOfAuthResult(authResultSchema.parse(result), "auth::check");
const role = (more: Partial<RoleSettings>): Grants =>
  grantsOfRole({
    name: "r",
    allowedFunctions: [],
    forbiddenFunctions: [],
    allowedTriggerTypes: undefined,
    allowTriggerTypeRegistration: false,
    allowFunctionRegistration: true,
    functionRegistrationPrefix: undefined,
    context: {},
    admin: false,
    ...more,
  });
const decide = (
  id: string,
  grants: Grants,
  exposed: readonly ExposeSetting[] | "no rbac" = [],
  metadata: unknown = undefined,
): string | undefined => callRefusal(id, () => metadata, grants, policy(exposed === "no rbac" ? undefined : exposed));

describe("a call of a restricted connection (gap 56)", () => {
  it("is denied by default, and the answer names the key that would allow it", () => {
    expect(decide("state::get", ANONYMOUS)).toBe("function 'state::get' not allowed (add to rbac.expose_functions)");
  });

  it("is denied by the forbidden list before anything else is asked", () => {
    const grants = granted({ allowed_functions: ["a::b"], forbidden_functions: ["a::b"] });
    expect(decide("a::b", grants, ['match("*")'])).toBe(
      "function 'a::b' not allowed (remove from rbac.forbidden_functions)",
    );
    expect(decide("engine::log::info", granted({ forbidden_functions: ["engine::log::info"] }))).toContain("forbidden");
  });

  it("is allowed by the allowed list, by its id or by match(…)", () => {
    const grants = granted({ allowed_functions: ["a::b", 'match("c::*")', "d::*"] });
    expect(decide("a::b", grants)).toBeUndefined();
    expect(decide("c::x", grants)).toBeUndefined();
    // On the wire a star is a normal character of an id.
    expect(decide("d::x", grants)).toBeDefined();
  });

  it("lists the engines of a cluster only where that is named or it administers the engine", () => {
    expect(decide("engine::nodes::list", role({}), ['match("*")'])).toContain("administers the engine");
    expect(decide("engine::nodes::list", role({ admin: true }), [])).toBeUndefined();
  });

  it("reads and deletes log entries, which tell of everybody, only where they are named or it administers the engine", () => {
    expect(decide("engine::logs::list", role({}), ['match("*")'])).toContain("administers the engine");
    expect(decide("engine::logs::list", role({ admin: true }), [])).toBeUndefined();
    expect(decide("engine::logs::list", granted({ allowed_functions: ["engine::logs::list"] }))).toBeUndefined();
  });

  it.each([
    "engine::channels::create",
    "engine::workers::register",
    "engine::log::info",
    "engine::log::trace",
    "engine::baggage::get_all",
    "queue::report_progress",
  ])("of %s is always allowed, since clients need it", (id) => {
    expect(decide(id, ANONYMOUS)).toBeUndefined();
  });

  it.each(["engine::functions::list", "engine::queue::enqueue", "engine::workers::stop"])("of %s is not", (id) => {
    expect(decide(id, ANONYMOUS)).toBeDefined();
  });

  it("is allowed by a rule over ids or over metadata, all keys of which must match", () => {
    const rules: ExposeSetting[] = ["match('api::*')", { metadata: { public: true, tier: 'match("free*")' } }];
    expect(decide("api::x", ANONYMOUS, rules)).toBeUndefined();
    expect(decide("x", ANONYMOUS, rules, { public: true, tier: "free-eu", more: 1 })).toBeUndefined();
    expect(decide("x", ANONYMOUS, rules, { public: true })).toBeDefined();
    expect(decide("x", ANONYMOUS, rules, { public: "true", tier: "free" })).toBeDefined();
    expect(decide("x", ANONYMOUS, rules, null)).toBeDefined();
    expect(decide("x", ANONYMOUS, [{ metadata: {} }], {})).toBeDefined();
    expect(decide("x", ANONYMOUS, [{ metadata: { toString: "match('*')" } }], {})).toBeDefined();
  });

  it("is allowed whatever it is where the listener has no rbac", () => {
    expect(decide("state::get", ANONYMOUS, "no rbac")).toBeUndefined();
  });

  it("is decided by patterns where a role says so", () => {
    const grants = role({ allowedFunctions: ["orders::*"], forbiddenFunctions: ["orders::delete*"] });
    expect(decide("orders::get", grants)).toBeUndefined();
    expect(decide("orders::delete_all", grants)).toBeDefined();
  });

  it("that administers the engine needs its name in a list, or a role with admin (K10)", () => {
    expect(decide("worker::restart", role({ allowedFunctions: ["*"] }))).toContain("administers the engine");
    expect(decide("state::snapshot", ANONYMOUS, ['match("state::*")'])).toContain("administers the engine");
    expect(decide("engine::register_trigger", ANONYMOUS, ['match("*")'])).toContain("administers the engine");
    expect(decide("state::import", ANONYMOUS, ['match("state::*")'])).toBeUndefined();
    expect(decide("worker::restart", ANONYMOUS, ['match("*")'])).toContain("administers the engine");
    expect(decide("worker::restart", granted({ allowed_functions: ["worker::restart"] }))).toBeUndefined();
    expect(decide("worker::restart", role({ admin: true }))).toBeUndefined();
    expect(decide("worker::restart", role({ admin: true, forbiddenFunctions: ["worker::*"] }))).toContain("forbidden");
  });
});

describe("an auth function's answer", () => {
  it("lacks nothing when it is empty: it may register functions, but no trigger types", () => {
    expect(granted({})).toMatchObject({
      mayRegisterFunctions: true,
      mayRegisterTriggerTypes: false,
      triggerTypes: undefined,
      prefix: undefined,
      context: {},
    });
  });

  it.each([
    { allowed_functions: "a" },
    { allowed_functions: [1] },
    { allow_function_registration: "no" },
    { function_registration_prefix: "" },
    { context: [] },
    [],
    "yes",
  ])("is refused when it has another shape: %j", (answer) => {
    expect(authResultSchema.safeParse(answer).success).toBe(false);
  });
});
