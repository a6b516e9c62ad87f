/** Text that has yet to come is waited for. Rejects where the browser gives pages no clipboard, as it does over plain HTTP from another machine. */
export async function copyText(text: string | Promise<string>): Promise<void> {
  if ((navigator.clipboard as Clipboard | undefined) === undefined) throw new Error("this browser gives the page no clipboard");
  if (typeof text === "string") return navigator.clipboard.writeText(text);
  // Asked for at once, while the click that allows it counts.
  const blob = text.then((whole) => new Blob([whole], { type: "text/plain" }));
  await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
}
