// Reads lines of JSON, each a base64 text of a file's bytes; writes the report of each.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { check } = await import(pathToFileURL(process.argv[2]));
for await (const line of createInterface({ input: process.stdin })) {
  const { verdict, on, obligations, reason } = check(Buffer.from(line, "base64"));
  const failed = obligations.find((each) => each.failure !== null);
  const counts = obligations.map(({ name, cases, failure }) => [name, failure === null ? cases : null]);
  process.stdout.write(`${JSON.stringify({ verdict, on, reason, failed: failed?.name ?? null, counts })}\n`);
}
