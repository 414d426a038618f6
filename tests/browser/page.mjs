// Opens pages that the program writes in a headless Chromium and holds that
// they log nothing, ask for nothing, run nothing that a capture brought, and
// that filters, steps, zoom and pretty-printing work. Not part of `cargo test`:
//
//     cargo build && node tests/browser/page.mjs [path of the program]
//
// Node 22 or later, or 20 with --experimental-websocket; CHROMIUM names the browser.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { start } from "./browser.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const program = process.argv[2] || join(root, "target", "debug", "chunkscope");
const folder = mkdtempSync(join(tmpdir(), "chunkscope-pages-"));

/** Writes a page; gives its address. */
function page(name, ...words) {
  const path = join(folder, `${name}.html`);
  const { status, stderr } = spawnSync(program, ["-q", "-o", `html=${path}`, ...words], { cwd: root, encoding: "utf8" });
  assert.ok(status !== null && status < 4, `${name}: ${stderr}`);
  return pathToFileURL(path).href;
}

/** A raw response whose payloads try to be markup. */
function hostile() {
  const chunks = [
    "</script><script>window.hit=1</script>", "<img src=x onerror=window.hit=1>", "]]><svg onload=window.hit=1>",
    "\" onmouseover=\"window.hit=1", "<!-- <style>body{display:none}</style>", "\u202egnp.exe",
  ].map((text) => JSON.stringify({ type: "ADDED", object: { kind: text, metadata: { name: text, namespace: text } } }));
  const chunk = (text) => `${Buffer.byteLength(text).toString(16)};x="</script>"\r\n${text}\r\n`;
  const head = "HTTP/1.1 200 <img src=x onerror=window.hit=1>\r\nContent-Type: application/json;stream=watch\r\nTransfer-Encoding: chunked\r\n\r\n";
  const path = join(folder, "hostile <img src=x onerror=window.hit=1>.http".replace(/\//g, ""));
  writeFileSync(path, `${head}${chunks.map(chunk).join("")}0\r\n\r\n`);
  return path;
}

const pages = {
  passes: page("passes", "testdata/k8s-watch-coredns.pcap"),
  fails: page("fails", "testdata/nginx-buffered.pcap"),
  many: page("many", "testdata/mixed-keepalive.pcap", "testdata/informer.pcap", "Cargo.toml", "--all"),
  lossy: page("lossy", "testdata/veth-impaired.pcap"),
  empty: page("empty", "testdata/kubectl-get-w-json.pcap", "--port", "1"),
  hostile: page("hostile", "--raw", hostile()),
};

const { page: tab, stop } = await start();
const noise = [];
tab.on("Log.entryAdded", ({ entry }) => noise.push(`${entry.level}: ${entry.text}`));
tab.on("Runtime.exceptionThrown", ({ exceptionDetails }) => noise.push(exceptionDetails.text));
tab.on("Runtime.consoleAPICalled", ({ type, args }) => noise.push(`${type}: ${args.map((arg) => arg.value)}`));
tab.on("Page.javascriptDialogOpening", () => noise.push("a dialog"));
tab.on("Network.requestWillBeSent", ({ request, type }) => {
  if (type !== "Document") noise.push(`a request: ${request.url}`);
});
const key = async (key) => {
  await tab.send("Input.dispatchKeyEvent", { type: "keyDown", key, code: key });
  await tab.send("Input.dispatchKeyEvent", { type: "keyUp", key, code: key });
};
const failed = [];
const holds = async (name, check) => {
  try {
    noise.length = 0;
    await check();
    assert.deepEqual(noise, []);
    console.log(`ok    ${name}`);
  } catch (error) {
    failed.push(name);
    console.log(`FAIL  ${name}\n${error.message}`);
  }
};

for (const [name, address] of Object.entries(pages)) {
  for (const scheme of ["light", "dark"]) for (const width of [400, 1000, 1600]) {
    await holds(`${name} opens at ${width} pixels, ${scheme}, and nothing sticks out`, async () => {
      await tab.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
      await tab.send("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: false });
      await tab.open(address);
      assert.equal(await tab.evaluate("document.querySelectorAll('h1').length"), 1);
      // Everything is laid out, and some octets are open.
      await tab.evaluate(`
        document.querySelectorAll(".exchange").forEach((one) => { one.style.contentVisibility = "visible"; });
        [...document.querySelectorAll(".rows details")].slice(0, 3).forEach((one) => { one.open = true; });`);
      assert.ok(await tab.evaluate(`document.documentElement.scrollWidth <= ${width}`), "it scrolls sideways");
      assert.ok(await tab.evaluate("window.hit === undefined"), "what a capture brought was run");
    });
  }
}

await holds("the filters leave what they say", async () => {
  await tab.open(pages.fails);
  const shown = "[...document.querySelectorAll('.rows > tbody[id]')].filter((row) => !row.hidden)";
  const set = (field, value) => tab.evaluate(`{
    const field = document.querySelector('.chunks .filters').elements.${field};
    if (field.type === 'checkbox') field.checked = ${JSON.stringify(value)}; else field.value = ${JSON.stringify(value)};
    field.dispatchEvent(new Event('input', { bubbles: true }));
  }`);
  const all = await tab.evaluate(`${shown}.length`);
  await set("failed", true);
  assert.equal(await tab.evaluate(`${shown}.length`), 49);
  assert.ok(await tab.evaluate(`${shown}.every((row) => row.classList.contains('bad'))`));
  assert.equal(await tab.evaluate("document.querySelector('.chunks output').textContent"), `49 of ${all} chunks`);
  await set("failed", false);
  await set("type", "MODIFIED");
  assert.ok(await tab.evaluate(`${shown}.every((row) => row.textContent.includes('MODIFIED'))`));
  await set("type", "");
  await set("text", "no such text anywhere");
  assert.equal(await tab.evaluate(`${shown}.length`), 0);
  await set("text", "");
  assert.equal(await tab.evaluate(`${shown}.length`), all);
});

await holds("keys step through the timeline, zoom, and open a chunk's octets", async () => {
  await tab.open(pages.fails);
  await tab.evaluate("document.querySelector('.plot').focus()");
  await key("ArrowRight");
  await key("ArrowRight");
  assert.match(await tab.evaluate("document.querySelector('.controls output').textContent"), /^chunk 2, .*4,088 \(0xff8\) octets, frame 8, mixed/);
  const first = "document.querySelector('.mark line').getAttribute('x1')";
  const last = "[...document.querySelectorAll('.mark')].at(-1).getAttribute('display')";
  assert.equal(await tab.evaluate(first), "0.05%");
  await key("+");
  assert.equal(await tab.evaluate(last), "none");
  await key("0");
  assert.equal(await tab.evaluate(last), "inline");
  await key("Enter");
  await tab.evaluate("new Promise((resolve) => setTimeout(resolve, 100))");
  assert.ok(await tab.evaluate("document.querySelector('#c1-s0-x0-2 details').open"));
});

await holds("JSON is pretty-printed on demand, and the payload comes back", async () => {
  await tab.open(pages.passes);
  await tab.evaluate("document.querySelector('.rows details').open = true; new Promise((resolve) => setTimeout(resolve, 100))");
  const text = "document.querySelector('.rows .text pre').textContent";
  const raw = await tab.evaluate(text);
  await tab.evaluate("document.querySelector('.rows .text button').click()");
  const pretty = await tab.evaluate(text);
  assert.match(pretty, /^\{\n {2}"type": "ADDED",\n {2}"object": \{\n/);
  assert.deepEqual(JSON.parse(pretty), JSON.parse(raw.replace("↵", "")));
  await tab.evaluate("document.querySelector('.rows .text button').click()");
  assert.equal(await tab.evaluate(text), raw);
});

await holds("it is read without a script", async () => {
  await tab.send("Emulation.setScriptExecutionDisabled", { value: true });
  await tab.open(pages.fails);
  const visible = async (selector) => {
    const { root: node } = await tab.send("DOM.getDocument");
    const { nodeId } = await tab.send("DOM.querySelector", { nodeId: node.nodeId, selector });
    return nodeId ? tab.send("DOM.getBoxModel", { nodeId }).then(() => true, () => false) : false;
  };
  for (const selector of ["h1", ".timeline svg", ".alignment svg", ".rows > tbody", "summary"])
    assert.ok(await visible(selector), selector);
  for (const selector of [".filters", ".controls"]) assert.ok(!await visible(selector), selector);
  await tab.send("Emulation.setScriptExecutionDisabled", { value: false });
});

await stop();
rmSync(folder, { recursive: true });
if (failed.length) {
  console.log(`${failed.length} failed`);
  process.exitCode = 1;
}
