/** Rejects where the browser gives pages no clipboard, as it does over plain HTTP from another machine. */
export async function copyText(text: string): Promise<void> {
  if ((navigator.clipboard as Clipboard | undefined) === undefined) throw new Error("this browser gives the page no clipboard");
  await navigator.clipboard.writeText(text);
}
