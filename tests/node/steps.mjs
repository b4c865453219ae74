// What a client on either TypeScript SDK does with one server, on one connection; the results as JSON on the output.
// usage: node steps.mjs PACKAGE_FOLDER v1|v2 legacy|auto JSON      (JSON: {command, args, env, cwd, seen})
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const [folder, version, negotiation, given] = process.argv.slice(2);
const { seen, ...server } = JSON.parse(given);
const require = createRequire(join(folder, "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const asked = [];
const answers = [];

function answer(request) {
  asked.push(request.params);
  return answers.length ? answers.shift() : { action: "accept", content: { approve: "once" } };
}

async function connected() {
  const about = { name: `steps-${version}`, version: "1" };
  const capabilities = { elicitation: {} };
  if (version === "v1") {
    const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
    const { ElicitRequestSchema } = await load("@modelcontextprotocol/sdk/types.js");
    const client = new Client(about, { capabilities });
    client.setRequestHandler(ElicitRequestSchema, async (request) => answer(request));
    await client.connect(new StdioClientTransport(server));
    return { client, call: (params, options) => client.callTool(params, undefined, options) };
  }
  const { Client } = await load("@modelcontextprotocol/client");
  const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");
  const client = new Client(about, { capabilities, versionNegotiation: { mode: negotiation } });
  client.setRequestHandler("elicitation/create", async (request) => answer(request));
  await client.connect(new StdioClientTransport(server));
  return { client, call: (params, options) => client.callTool(params, options) };
}

async function until(claim, what) {
  for (const end = Date.now() + 60_000; !claim(); await pause(20)) {
    if (Date.now() > end) throw new Error(`not within 60 s: ${what}`);
  }
}

const go = join(seen, "go");
const started = join(seen, "pid");
const running = () => existsSync(started) && readFileSync(started, "utf8") !== "";
const { client, call } = await connected();
const result = { tools: (await client.listTools()).tools.map((tool) => tool.name) };
result.read = await call({ name: "read_file", arguments: { path: "calc.py" } });
result.missing = await call({ name: "read_file", arguments: { path: "nothing.py" } });

const tests = { name: "run_tests", arguments: { wait_s: 45 } };
const abort = new AbortController();
const cancelled = call(tests, { signal: abort.signal }).then(
  () => "answered",
  () => "cancelled",
);
await until(running, "the tests run");
abort.abort();
result.cancelled = await cancelled;
rmSync(started);

// Tests can run again only once those that were cancelled have ended.
const progress = [];
const onprogress = (step) => {
  // The second SDK tells of its own rounds of questions by the same way.
  if (!step.message?.startsWith("Fulfilling input")) progress.push(step);
  if (running()) writeFileSync(go, "");
};
const busy = (answered) => answered.structuredContent?.error?.kind === "busy";
for (const end = Date.now() + 60_000; ; await pause(20)) {
  progress.length = 0;
  result.long = await call(tests, { onprogress, resetTimeoutOnProgress: true });
  if (!busy(result.long) || Date.now() > end) break;
}
result.progress = progress;

const edit = (replace) => ({
  name: "apply_edits",
  arguments: { replacements: [{ path: "calc.py", search: "    return 1\n", replace }] },
});
asked.length = 0;
answers.push({ action: "decline" });
result.declined = await call(edit("    return 3\n"));
result.approved = await call(edit("    return 2\n"));
result.asked = asked;
await client.close();
console.log(JSON.stringify(result));
