// A headless Chromium, driven over its DevTools protocol; no package needed
// (node 22 or later has WebSocket).

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Starts the browser named by CHROMIUM, else `chromium`. */
export async function start() {
  const profile = mkdtempSync(join(tmpdir(), "chunkscope-browser-"));
  const child = spawn(process.env.CHROMIUM || "chromium", [
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
    "--remote-debugging-port=0", `--user-data-dir=${profile}`, "about:blank",
  ], { stdio: "ignore" });
  const gone = new Promise((resolve) => child.once("exit", resolve));
  const stop = async () => {
    child.kill();
    await gone;
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  for (let tries = 0; tries < 200; tries += 1) {
    try {
      const [port] = readFileSync(join(profile, "DevToolsActivePort"), "utf8").split("\n");
      const pages = await (await fetch(`http://127.0.0.1:${port}/json/list`)).json();
      const page = pages.find((page) => page.type === "page");
      if (page) return { page: await connect(page.webSocketDebuggerUrl), stop };
    } catch { /* not yet */ }
    await sleep(100);
  }
  await stop();
  throw new Error("the browser did not start");
}

/** A page: `send` commands, `on` events, `evaluate` expressions. */
async function connect(url) {
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve, { once: true });
    socket.addEventListener("error", reject, { once: true });
  });
  const waiting = new Map();
  const listeners = [];
  let last = 0;
  socket.addEventListener("message", ({ data }) => {
    const message = JSON.parse(data);
    if (message.id) {
      const { resolve, reject } = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error) reject(new Error(message.error.message));
      else resolve(message.result);
    } else for (const [method, listener] of listeners) if (method === message.method) listener(message.params);
  });
  const send = (method, params = {}) => new Promise((resolve, reject) => {
    waiting.set(last += 1, { resolve, reject });
    socket.send(JSON.stringify({ id: last, method, params }));
  });
  const page = {
    send,
    on: (method, listener) => listeners.push([method, listener]),
    once: (method) => new Promise((resolve) => listeners.push([method, resolve])),
    async evaluate(expression) {
      const answer = await send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
      if (answer.exceptionDetails) throw new Error(answer.exceptionDetails.exception?.description || answer.exceptionDetails.text);
      return answer.result.value;
    },
    async open(address) {
      const loaded = page.once("Page.loadEventFired");
      await send("Page.navigate", { url: address });
      await loaded;
    },
  };
  for (const domain of ["Page", "Runtime", "Network", "Log"]) await send(`${domain}.enable`);
  return page;
}
