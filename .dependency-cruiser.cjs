// Which way imports point (ARCHITECTURE.md draws it). Each rule was broken once on purpose to see it bite.
const tests = "[.]test[.]tsx?$|/testing/|[.]test-d[.]ts$|[.]test[-.]support[.]m?[jt]s$";

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: "no-circular",
      comment: "A cycle has no reading order, not even one of types.",
      severity: "error",
      from: {},
      to: { circular: true },
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
      to: { path: "^packages/(?!engine/|protocol/|observability/)" },
    },
    {
      name: "observability-sees-the-published-contract",
      comment: "Observability uses what any module in a package of its own may use.",
      severity: "error",
      from: { path: "^packages/observability/", pathNot: tests },
      to: {
        path: "^packages/(?!observability/|protocol/|engine/src/(module-contract|store/(index|procedures))[.]ts$)",
      },
    },
    {
      name: "tests-of-observability-see-entries",
      comment: "Its tests use published entries, too, and the engine's own test code.",
      severity: "error",
      from: { path: "^packages/observability/" },
      to: {
        path: "^packages/engine/src/(?!((testing/)?index|module-contract|store/(index|procedures))[.]ts$)",
      },
    },
    {
      name: "observability-is-loaded-by-its-name",
      comment: "The engine loads it at run time, in modules/index.ts; nothing else imports it.",
      severity: "error",
      from: { pathNot: "^packages/observability/|^packages/engine/src/modules/index[.]ts$" },
      to: { path: "^packages/observability/", pathNot: "[.]d[.]ts$" },
    },
    {
      name: "console-is-a-client",
      comment: "The console reaches the engine over the wire, as any worker does.",
      severity: "error",
      from: { path: "^packages/console/", pathNot: tests },
      to: { path: "^packages/(?!console/|protocol/|sdk/)" },
    },
    {
      name: "page-and-server-meet-in-the-contract",
      comment: "What runs in the browser and what runs in Node share shapes only.",
      severity: "error",
      from: { path: "^packages/console/src/(web|server)/" },
      to: {
        path: "^packages/(console/src/(web|server)|protocol|sdk)/",
        pathNot: "^packages/console/src/$1/|^packages/(protocol|sdk)/",
      },
    },
    {
      name: "page-is-no-node",
      comment:
        "The page loads neither the SDK nor anything of Node; of the protocol only files that import no package.",
      severity: "error",
      from: { path: "^packages/console/src/web/", pathNot: tests },
      to: {
        path: "^packages/(sdk|protocol)/",
        pathNot:
          "^packages/protocol/src/(backoff|config-mask|json-text|listings|nearest-name|secrets|wildcards|query/.*)[.]ts$",
      },
    },
    {
      name: "pages-do-not-import-pages",
      comment: "Pages share data by web/model, components by web/ui and helpers by web/lib.",
      severity: "error",
      from: { path: "^packages/console/src/web/pages/([^/]+)/" },
      to: { path: "^packages/console/src/web/pages/", pathNot: "^packages/console/src/web/pages/$1/" },
    },
    {
      name: "shared-code-imports-no-page",
      comment: "Pages import web/labels, web/model, web/ui and web/lib, not the other way round.",
      severity: "error",
      from: { path: "^packages/console/src/web/(labels|model|ui|lib)/" },
      to: { path: "^packages/console/src/web/pages/" },
    },
    {
      name: "model-is-data",
      comment: "The shared models are data and functions on it, without React.",
      severity: "error",
      from: { path: "^packages/console/src/web/model/" },
      to: {
        path: "^packages/console/src/web/(?!model/|lib/|labels/(catalogue|translate)[.]ts)|node_modules/(react|@tanstack|lucide-react)",
      },
    },
    {
      name: "kernel-knows-no-module",
      comment: "The kernel is below everything in the engine but the rules for restricted connections.",
      severity: "error",
      from: { path: "^packages/engine/src/kernel/", pathNot: tests },
      to: { path: "^packages/engine/src/(?!(access|kernel)/)" },
    },
    {
      name: "access-is-rules",
      comment: "Rules know neither calls nor connections; the kernel applies them.",
      severity: "error",
      from: { path: "^packages/engine/src/access/", pathNot: tests },
      to: { path: "^packages/engine/src/(?!access/)" },
    },
    {
      name: "streams-see-contracts",
      comment: "Of the kernel the streams see the contract with their providers, the clock and the logger.",
      severity: "error",
      from: { path: "^packages/engine/src/streams/", pathNot: tests },
      to: { path: "^packages/engine/src/(?!streams/|kernel/(clock|logger|stream-contract)[.]ts$)" },
    },
    {
      name: "parts-are-handed-over",
      comment: "Only the engine sees all parts; everything else takes those that it uses.",
      severity: "error",
      from: { path: "^packages/engine/src/", pathNot: `^packages/engine/src/engine[.]ts$|${tests}` },
      to: { path: "^packages/engine/src/create-kernel[.]ts$" },
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
      comment: "Of the kernel a module sees the contract, the clocks and the logger.",
      severity: "error",
      from: { path: "^packages/engine/src/modules/[^/]+/", pathNot: tests },
      to: {
        path: "^packages/engine/src/(access|streams)/|^packages/engine/src/kernel/(?!(module|store-contract|stream-contract|lazy-schema|telemetry-contract|health-contract|clock|interval-clock|logger|directory|scope|throttled-log|worker-claims)[.]ts$)",
      },
    },
    {
      name: "items-know-no-module",
      comment: "Whoever keeps items stands above the store of items.",
      severity: "error",
      from: { path: "^packages/engine/src/items/", pathNot: tests },
      to: {
        path: "^packages/engine/src/(?!(collections|files|items|store)/|kernel/(clock|interval-clock|logger|scope|store-contract)[.]ts$)",
      },
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
      name: "file-events-know-no-user",
      comment: "Config and modules watch files by it, so it is below both.",
      severity: "error",
      from: { path: "^packages/engine/src/file-events/", pathNot: tests },
      to: { path: "^packages/engine/src/(?!file-events/|kernel/clock[.]ts$)" },
    },
    {
      name: "collections-know-no-user",
      comment: "Data structures for stores and modules, so they are below all of them.",
      severity: "error",
      from: { path: "^packages/engine/src/collections/", pathNot: tests },
      to: { path: "^packages/engine/src/(?!collections/)" },
    },
    {
      name: "files-know-no-user",
      comment: "Replaces files for config, stores and modules, so it is below all of them.",
      severity: "error",
      from: { path: "^packages/engine/src/files/", pathNot: tests },
      to: { path: "^packages/engine/src/(?!files/)" },
    },
    {
      name: "stores-come-from-the-context",
      comment: "Modules open stores with ModuleContext.openStore, so that the engine decides how their data is kept.",
      severity: "error",
      from: { path: "^packages/(engine/src/(items|kernel|modules)|observability/src)/", pathNot: tests },
      to: {
        path: "^packages/engine/src/store/(open-store|memory-store|thread-store|store-thread|session|batch)[.]ts$",
      },
    },
    {
      name: "logs-are-below-stores",
      comment:
        "Neither the kernel nor modules know that a store may be a replica of a log; only what opens stores does.",
      severity: "error",
      from: {
        path: "^packages/engine/src/",
        pathNot: `^packages/engine/src/(engine[.]ts$|cluster/|store/(log[.]ts$|replicated/))|${tests}`,
      },
      to: { path: "^packages/engine/src/(cluster/|store/(log[.]ts$|replicated/))" },
    },
    {
      name: "nodes-are-below-the-kernel-s-assembly",
      comment:
        "Other nodes appear as providers, owners of triggers and channels. Only what puts the kernel together, and what implements a link, knows more.",
      severity: "error",
      from: {
        path: "^packages/engine/src/",
        pathNot: `^packages/engine/src/(create-kernel[.]ts$|cluster/|kernel/nodes/)|${tests}`,
      },
      to: { path: "^packages/engine/src/kernel/nodes/" },
    },
    {
      name: "clusters-are-loaded-on-demand",
      comment: "An engine that is alone loads no code of clusters and no client of their servers.",
      severity: "error",
      from: { path: "^packages/engine/src/(?!cluster/)", pathNot: tests },
      to: { path: "^packages/engine/src/cluster/", dynamic: false, dependencyTypesNot: ["type-only"] },
    },
    {
      name: "nats-in-the-cluster-only",
      comment: "One folder knows which server carries the link and the log.",
      severity: "error",
      from: { pathNot: "^packages/engine/src/cluster/nats/" },
      to: { path: "@nats-io/" },
    },
    {
      name: "modules-read-no-config",
      comment:
        "A module is handed its config. Of config/ it may use shapes only: those of blocks that the engine reads as well.",
      severity: "error",
      from: { path: "^packages/engine/src/modules/[^/]+/", pathNot: tests },
      to: { path: "^packages/engine/src/config/(?!(types|blocks/(tls|exec)-block)[.]ts$)" },
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
      conditionNames: ["@svc-runtime/source", "import", "node", "default", "types"],
      mainFields: ["module", "main", "types"],
      extensions: [".ts", ".tsx", ".js", ".mjs", ".json"],
    },
  },
};
