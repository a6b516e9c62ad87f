import { expect, it } from "vitest";
import type { AccessSettings } from "../access/settings.ts";
import { settingsAfterReload } from "./settings-after-reload.ts";
import type { BridgeListener, EngineSettings } from "./types.ts";

const rbac = (token: string): NonNullable<AccessSettings["rbac"]> => ({
  authFunctionId: undefined,
  exposeFunctions: [],
  onFunctionRegistrationFunctionId: undefined,
  onTriggerRegistrationFunctionId: undefined,
  onTriggerTypeRegistrationFunctionId: undefined,
  roles: [],
  tokens: [{ token, role: "r" }],
});
const listener = (port: number, token?: string, host = "127.0.0.1"): BridgeListener => ({
  address: { host, port },
  access: {
    tokenRequired: false,
    rbac: token === undefined ? undefined : rbac(token),
    middlewareFunctionId: undefined,
  },
});
const settings = (...bridges: BridgeListener[]): EngineSettings =>
  ({
    mode: "development",
    insecureBind: false,
    bridge: listener(1).address,
    bridgeAccess: listener(1).access,
    bridges,
  }) as Partial<EngineSettings> as EngineSettings;
/** Returns port and token requirement of each active listener. */
const inForce = ({ bridges }: EngineSettings) =>
  bridges.map(({ address, access }) => [
    address.port,
    access.isRemoved === true ? "removed" : access.rbac?.tokens[0]?.token,
  ]);

it.each([
  [
    "the same address",
    [listener(10, "a"), listener(11, "b")],
    [listener(11, "new b"), listener(10, "new a")],
    [
      [10, "new a"],
      [11, "new b"],
    ],
  ],
  [
    "the same place",
    [listener(10, "a"), listener(11, "b")],
    [listener(10, "new a"), listener(12, "new b")],
    [
      [10, "new a"],
      [11, "new b"],
    ],
  ],
  [
    "the same place, of listeners with any port",
    [listener(0, "a"), listener(0, "b")],
    [listener(0, "new a"), listener(0, "new b")],
    [
      [0, "new a"],
      [0, "new b"],
    ],
  ],
] as const)(
  "a running listener has the rules of the listener in the file that has %s",
  (_what, running, file, expected) => {
    expect(inForce(settingsAfterReload(settings(...running), settings(...file)))).toEqual(expected);
  },
);

it.each([
  [
    "fewer listeners",
    [listener(10, "a"), listener(11, "b")],
    [listener(11, "new b")],
    [
      [10, "removed"],
      [11, "new b"],
    ],
  ],
  ["more listeners", [listener(10, "a")], [listener(11, "new b"), listener(12, "c")], [[10, "removed"]]],
  [
    "another running one in its place",
    [listener(10, "a"), listener(11, "b")],
    [listener(11, "new b"), listener(12, "c")],
    [
      [10, "removed"],
      [11, "new b"],
    ],
  ],
] as const)("a running listener without counterpart is removed: the file has %s", (_what, running, file, expected) => {
  expect(inForce(settingsAfterReload(settings(...running), settings(...file)))).toEqual(expected);
});

it("a listener that other machines reach is not opened by rules that were meant for loopback", () => {
  const before = settings(listener(10, "a", "0.0.0.0"));
  const { bridges, bridgeAccess } = settingsAfterReload(
    { ...before, bridge: { host: "0.0.0.0", port: 1 }, bridgeAccess: listener(1, "a").access },
    settings(listener(10)),
  );
  expect([bridges[0]?.address.host, bridges[0]?.access.tokenRequired, bridgeAccess.tokenRequired]).toEqual([
    "0.0.0.0",
    true,
    true,
  ]);
});
