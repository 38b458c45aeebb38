// The page's engine in node: a line of JSON for each line of JSON.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { work } from "./work.mjs";

const folder = pathToFileURL(`${process.argv[2]}/`);
const WORK = await work((name) => import(new URL(name, folder)));

for await (const line of createInterface({ input: process.stdin })) {
  const { work: name, ...rest } = JSON.parse(line);
  let answer;
  try {
    answer = await WORK[name](rest);
  } catch (error) {
    answer = { error: `${error.stack}` };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
