#!/usr/bin/env node
// The command of the console's package, so that installing svc-runtime provides it.
import "@svc-runtime/console/bin";
