// Loaded with `node --import`: in this process time runs SVC_TEST_TIME_FACTOR times as fast, so that a client's minute
// takes seconds in a test.
const factor = Number(process.env.SVC_TEST_TIME_FACTOR ?? "1");

for (const name of ["setTimeout", "setInterval"]) {
  const original = globalThis[name];
  globalThis[name] = Object.assign((handler, ms, ...args) => original(handler, (ms ?? 0) / factor, ...args), original);
}
for (const clock of [Date, performance]) {
  const now = clock.now.bind(clock);
  const startedAt = now();
  clock.now = () => startedAt + (now() - startedAt) * factor;
}
