// Which way imports point (ARCHITECTURE.md draws it). Each rule was broken once on purpose to see it bite.
const tests = "[.]test[.]ts$|/testing/|[.]test-d[.]ts$|[.]test[-.]support[.]m?[jt]s$";

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: "no-circular",
      comment: "A circle has no reading order.",
      severity: "error",
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
    {
      name: "protocol-stands-alone",
      comment: "The wire depends on nothing of ours.",
      severity: "error",
      from: { path: "^packages/protocol/" },
      to: { path: "^packages/(?!protocol/)" },
    },
    {
      name: "sdk-sees-protocol-only",
      comment: "A worker must not need the engine.",
      severity: "error",
      from: { path: "^packages/sdk/", pathNot: tests },
      to: { path: "^packages/(?!sdk/|protocol/)" },
    },
    {
      name: "engine-knows-no-client",
      comment: "The engine knows neither CLI nor SDK.",
      severity: "error",
      from: { path: "^packages/engine/", pathNot: tests },
      to: { path: "^packages/(?!engine/|protocol/)" },
    },
    {
      name: "kernel-knows-no-module",
      comment: "The kernel is below everything in the engine.",
      severity: "error",
      from: { path: "^packages/engine/src/kernel/", pathNot: tests },
      to: { path: "^packages/engine/src/(?!kernel/)" },
    },
    {
      name: "modules-are-strangers",
      comment: "Modules meet by calling functions, as workers do.",
      severity: "error",
      from: { path: "^packages/engine/src/modules/([^/]+)/" },
      to: { path: "^packages/engine/src/modules/([^/]+)/", pathNot: "^packages/engine/src/modules/$1/" },
    },
    {
      name: "modules-see-the-contract",
      comment: "Of the kernel a module sees the contract, the clock and the logger.",
      severity: "error",
      from: { path: "^packages/engine/src/modules/[^/]+/", pathNot: tests },
      to: {
        path: "^packages/engine/src/kernel/(?!(module|stream-contract|telemetry-contract|health-contract|clock|logger|directory|scope|worker-claims)[.]ts$)",
      },
    },
    {
      name: "items-know-no-module",
      comment: "Whoever keeps items stands above the store of items.",
      severity: "error",
      from: { path: "^packages/engine/src/items/", pathNot: tests },
      to: { path: "^packages/engine/src/(?!(items|store)/|kernel/(clock|logger|module)[.]ts$)" },
    },
    {
      name: "deliveries-know-no-module",
      comment: "Whoever hands events over stands above the queues for them.",
      severity: "error",
      from: { path: "^packages/engine/src/deliveries/", pathNot: tests },
      to: { path: "^packages/engine/src/(?!deliveries/|kernel/(clock|logger|module|telemetry-contract)[.]ts$)" },
    },
    {
      name: "outbound-http-knows-no-module",
      comment: "Whoever sends requests stands above the rules for where they may go.",
      severity: "error",
      from: { path: "^packages/engine/src/outbound-http/", pathNot: tests },
      to: { path: "^packages/engine/src/(?!outbound-http/|kernel/(clock|module)[.]ts$)" },
    },
    {
      name: "modules-read-no-config",
      comment: "A module is handed its config. Of config/ it may use shapes only: those of blocks that the engine reads as well.",
      severity: "error",
      from: { path: "^packages/engine/src/modules/[^/]+/", pathNot: tests },
      to: { path: "^packages/engine/src/config/(?!(types|tls-block)[.]ts$)" },
    },
    {
      name: "modules-open-no-sockets",
      comment: "Listeners belong to the engine.",
      severity: "error",
      from: { path: "^packages/engine/src/modules/", pathNot: tests },
      to: { path: "^packages/engine/src/transport/" },
    },
    {
      name: "ws-in-the-transport-only",
      comment: "One file knows which WebSocket library there is.",
      severity: "error",
      from: { path: "^packages/engine/src/", pathNot: `websocket[.]ts$|${tests}` },
      to: { path: "node_modules/ws/" },
    },
    {
      name: "testing-for-tests-only",
      comment: "Test code must not reach users.",
      severity: "error",
      from: { pathNot: `${tests}|^e2e/|^bench/` },
      to: { path: "/testing/|[.]test[-.]support[.]" },
    },
    {
      name: "test-kit-is-for-users",
      comment: "The engine does not need what it offers to tests.",
      severity: "error",
      from: { path: "^packages/", pathNot: `^packages/engine/src/test-kit/|${tests}` },
      to: { path: "^packages/engine/src/test-kit/" },
    },
    {
      name: "no-undeclared",
      comment: "What is imported is declared.",
      severity: "error",
      from: { path: "^packages/", pathNot: tests },
      to: { dependencyTypes: ["npm-no-pkg", "npm-unknown"] },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules|/dist/|/bundle/" },
    exclude: { path: "/dist/|/bundle/" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.base.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["@svc/source", "import", "node", "default", "types"],
      mainFields: ["module", "main", "types"],
      extensions: [".ts", ".js", ".mjs", ".json"],
    },
  },
};
