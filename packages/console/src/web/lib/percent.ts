/** Formats a share between 0 and 1, e.g. `2.5 %`. */
export function percent(rate: number): string {
  const value = rate * 100;
  return value === 0
    ? "0 %"
    : value < 0.1
      ? "< 0.1 %"
      : value < 10
        ? `${value.toFixed(1)} %`
        : `${Math.round(value)} %`;
}
