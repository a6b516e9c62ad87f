import type { AlertRule } from "../config.ts";

export type OperatorName = "GreaterThan" | "GreaterThanOrEqual" | "LessThan" | "LessThanOrEqual" | "Equal" | "NotEqual";

interface Operator {
  readonly name: OperatorName;
  readonly symbol: string;
  holds(value: number, threshold: number): boolean;
}

const OPERATORS: readonly Operator[] = [
  { name: "GreaterThan", symbol: ">", holds: (value, threshold) => value > threshold },
  { name: "GreaterThanOrEqual", symbol: ">=", holds: (value, threshold) => value >= threshold },
  { name: "LessThan", symbol: "<", holds: (value, threshold) => value < threshold },
  { name: "LessThanOrEqual", symbol: "<=", holds: (value, threshold) => value <= threshold },
  { name: "Equal", symbol: "==", holds: (value, threshold) => value === threshold },
  { name: "NotEqual", symbol: "!=", holds: (value, threshold) => value !== threshold },
];

export function operatorOf({ operator }: Pick<AlertRule, "operator">): Operator {
  const found = OPERATORS.find(
    ({ name, symbol }) => symbol === operator || name.toLowerCase() === operator.toLowerCase(),
  );
  if (found === undefined) throw new TypeError(`there is no operator ${operator}`);
  return found;
}
