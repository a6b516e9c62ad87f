/**
 * Payload and result types by function id. Empty here. A project declares its own:
 *
 * ```ts
 * declare module "@svc-runtime/sdk" {
 *   interface Functions {
 *     "math::add": { payload: { a: number; b: number }; result: { c: number } };
 *   }
 * }
 * ```
 */
// biome-ignore lint/suspicious/noEmptyInterface: made to be merged with
export interface Functions {}
