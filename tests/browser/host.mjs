// A host of MCP Apps, as small as can be: shows a page in a sandboxed frame, answers it, and does what a person would.
// usage: node host.mjs PAGE.html SCENES.json   -> one JSON document: what was seen in each scene
// A scene: {theme, result, answers: {TOOL: [result, ...]}, steps: [["click" | "see", SELECTOR] | ["calls", COUNT] | ["hear", METHOD]]}.
import { readFileSync } from "node:fs";
import { join } from "node:path";

// BROWSER_FOLDER: where tests/browser/install.sh put the browser and what drives it.
const folder = process.env.BROWSER_FOLDER;
const { chromium } = await import(join(folder, "node_modules", "playwright-core", "index.mjs"));
const [html, scenes] = [readFileSync(process.argv[2], "utf8"), JSON.parse(readFileSync(process.argv[3], "utf8"))];

function host({ html, scene }) {
  window.seen = { messages: [], calls: [] };
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  const send = (message) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const answer = ({ id, method, params }) => {
    if (method === "ui/initialize")
      return send({ id, result: { protocolVersion: "2026-01-26", hostInfo: { name: "host", version: "1" },
        hostCapabilities: { serverTools: {}, updateModelContext: {} },
        hostContext: { theme: scene.theme, styles: { variables: scene.variables ?? {} } } } });
    if (method !== "tools/call") return send({ id, result: {} });
    window.seen.calls.push(params);
    const next = (scene.answers?.[params.name] ?? []).shift();
    send(next ? { id, result: next } : { id, error: { code: -32000, message: `no answer for ${params.name}` } });
  };
  window.addEventListener("message", ({ data }) => {
    window.seen.messages.push(data);
    if (data.id !== undefined && data.method) return answer(data);
    if (data.method === "ui/notifications/initialized") {
      send({ method: "ui/notifications/tool-input", params: { arguments: { repo: "/shop" } } });
      send({ method: "ui/notifications/tool-result", params: scene.result });
    }
  });
  frame.srcdoc = html;
  document.body.append(frame);
}

async function play(browser, scene) {
  const page = await browser.newPage();
  const requests = [], errors = [];
  page.on("request", (r) => { if (/^(https?|wss?):/.test(r.url())) requests.push(r.url()); });
  page.on("pageerror", (e) => errors.push(String(e)));
  page.on("console", (m) => { if (m.type() === "error") errors.push(m.text()); });
  await page.evaluate(host, { html, scene });
  const view = page.frameLocator("iframe");
  await view.locator(scene.ready ?? "#actions:not([hidden])").waitFor();
  const calls_before = [];
  for (const [what, at] of scene.steps ?? []) {
    calls_before.push((await page.evaluate(() => window.seen.calls)).map((c) => c.name));
    if (what === "click") await view.locator(at).click();
    else if (what === "hear") await page.waitForFunction((m) => window.seen.messages.some((s) => s.method === m), at);
    else if (what === "see") await view.locator(at).waitFor();
    else await page.waitForFunction((n) => window.seen.calls.length >= n, at);
  }
  const seen = await page.evaluate(() => window.seen);
  const of_frame = await page.frames()[1].evaluate(() => ({
    text: document.body.innerText, theme: document.documentElement.dataset.theme,
    elements: [...new Set([...document.querySelectorAll("main *")].map((e) => e.localName))].sort(),
    attributes: [...new Set([...document.querySelectorAll("main *")].flatMap((e) => e.getAttributeNames()))].sort(),
    state: document.getElementById("state").textContent, pwned: Boolean(window.pwned),
    chart: document.querySelector("svg")?.getAttribute("aria-label") ?? "",
    plus: [...document.querySelectorAll("#diff .plus")].map((e) => e.textContent),
    minus: [...document.querySelectorAll("#diff .minus")].map((e) => e.textContent),
    attempts: document.querySelectorAll("#timeline li").length,
    primary: document.documentElement.style.getPropertyValue("--color-text-primary"),
    others: document.documentElement.style.getPropertyValue("--other"),
    nameless: [...document.querySelectorAll("button, section, [role=img]")]
      .filter((e) => !e.textContent.trim() && !e.getAttribute("aria-label")).length,
  }));
  await page.close();
  return { ...seen, ...of_frame, requests, errors, calls_before };
}

const browser = await chromium.launch({ executablePath: join(folder, "unpacked", "chromium"),
  args: ["--no-sandbox", "--disable-gpu", "--no-zygote"] });
const all = {};
for (const [name, scene] of Object.entries(scenes)) all[name] = await play(browser, scene);
await browser.close();
console.log(JSON.stringify(all));
