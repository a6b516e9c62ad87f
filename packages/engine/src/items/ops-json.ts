import type { UpdateOp } from "./update-op.ts";

/** Operations as JSON, with all digits of the numbers that they bring. */
export function opsJson(ops: readonly UpdateOp[]): string {
  return `[${ops.map(opJson).join(",")}]`;
}

function opJson(op: UpdateOp): string {
  if (!("value" in op) || op.json === undefined) return JSON.stringify(op);
  const { value: _, json, ...others } = op;
  return `${JSON.stringify(others).slice(0, -1)},"value":${json}}`;
}
