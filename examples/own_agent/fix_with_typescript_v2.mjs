// regreen's server in a program of yours, over version 2 of MCP's TypeScript SDK.
// usage, in a folder of its own: npm install @modelcontextprotocol/client; node fix_with_typescript_v2.mjs REPOSITORY [COMMAND...]   (default: regreen)
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [repository, command = "regreen", ...words] = process.argv.slice(2);
if (!repository) throw new Error("usage: node fix_with_typescript_v2.mjs REPOSITORY [COMMAND...]");

const client = new Client({ name: "own-agent", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
await client.connect(new StdioClientTransport({
  command, args: [...words, "serve", "--root", repository], env: { ...process.env },
}));

// The SDK gives up after 60 s: no call of regreen's takes that long, but a machine may be busy.
async function call(name, given) {
  const answer = await client.callTool({ name, arguments: given }, { timeout: 90_000 });
  if (answer.isError) throw new Error(answer.content[0].text); // refused: the text says why, and what to do
  return answer.structuredContent;
}

try {
  let run = await call("fix_tests", { proposer: "search", wait_s: 30 });
  while (run.state === "running") run = await call("job_status", { job_id: run.job_id, wait_s: 30 });
  const { reason, fixed, fixed_tests, diff } = run.outcome;
  console.log(`${reason}: ${fixed_tests.length} fixed\n${diff}`);
  process.exitCode = fixed || reason === "already_green" ? 0 : 1;
} finally {
  await client.close();
}
