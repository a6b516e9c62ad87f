/** `At 09:00, only on Monday`: a cron expression in words; undefined when it cannot be said. Loaded when it is first asked for. */
export async function cronText(expression: string): Promise<string | undefined> {
  const { default: cronstrue } = await import("cronstrue");
  try {
    return cronstrue.toString(expression, { use24HourTimeFormat: true, verbose: false });
  } catch {
    return undefined;
  }
}
