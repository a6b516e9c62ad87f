import type { Module } from "../kernel/module.ts";

/**
 * The default export of a package with a module. `tsconfig.json` says that `@svc-runtime/observability` has this type: the
 * engine is built before the package, which uses its types.
 */
declare const module: Module;
export default module;
