// Runs before the first paint, so that the page does not flash in the wrong theme.
try {
  const stored = localStorage.getItem("svc.theme");
  const dark = stored === "dark" || (stored !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  if (localStorage.getItem("svc.density") === "compact") document.documentElement.dataset.density = "compact";
} catch {
  document.documentElement.dataset.theme = "light";
}
