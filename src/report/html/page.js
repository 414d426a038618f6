"use strict";
// What reading doesn't need: filters, zoom, pretty-printed JSON. Everything
// here works on what is in the page; nothing is loaded or sent.
(() => {
  const all = (root, selector) => [...root.querySelectorAll(selector)];
  const make = (name, text, inside) => {
    const made = document.createElement(name);
    if (text) made.textContent = text;
    if (inside) inside.append(made);
    return made;
  };

  // Filters of a table: what fails, event type, text.
  const filter = (form, rows, noun) => {
    const fields = form.elements;
    const texts = new Map();
    const text = (row) => {
      if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
      return texts.get(row);
    };
    const matters = (row) => ["bad", "doubt", "v-unverified"].some((name) => row.classList.contains(name));
    const apply = () => {
      const wanted = fields.text.value.trim().toLowerCase();
      const type = fields.type ? fields.type.value : "";
      let shown = 0;
      for (const row of rows) {
        row.hidden = (fields.failed.checked && !matters(row)) ||
          (type && !(row.dataset.types || "").split(" ").includes(type)) ||
          (wanted && !text(row).includes(wanted));
        shown += !row.hidden;
      }
      const filtered = fields.failed.checked || type || wanted;
      form.querySelector("output").textContent = filtered ? `${shown} of ${rows.length} ${noun}` : "";
    };
    form.hidden = false;
    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("click", (event) => {
      if (event.target.name !== "open") return;
      const visible = rows.filter((row) => !row.hidden).map((row) => row.querySelector("details"));
      const open = visible.some((details) => !details.open);
      for (const details of visible) details.open = open;
      event.target.textContent = open ? "Close all octets" : "Open all octets";
    });
    apply();
  };
  for (const form of all(document, ".chunks > .filters"))
    filter(form, all(form.parentElement, ".rows > tbody[id]"), "chunks");
  for (const form of all(document, ".overview > .filters"))
    filter(form, all(form.parentElement, ".lines > tbody > tr"), "exchanges");

  // A link to a chunk opens its octets.
  const reveal = () => {
    const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!row || !row.matches(".rows > tbody")) return;
    row.hidden = false;
    row.querySelector("details").open = true;
    row.scrollIntoView({ block: "center" });
  };
  addEventListener("hashchange", reveal);
  reveal();

  // JSON, indented token by token, so that a piece of a text, numbers and
  // members given twice stay as they are.
  const pretty = (text) => {
    const tokens = text.match(/"(?:[^"\\]|\\.)*"?|[{}[\],:]|[^\s"{}[\],:↵␍␉]+/g) || [];
    let out = "", depth = 0, fresh = true;
    const line = () => { out = out.trimEnd() + "\n" + "  ".repeat(depth); fresh = true; };
    tokens.forEach((token, at) => {
      if (token === "{" || token === "[") {
        out += token;
        depth += 1;
        if (tokens[at + 1] !== "}" && tokens[at + 1] !== "]") line();
      } else if (token === "}" || token === "]") {
        depth = Math.max(0, depth - 1);
        if (tokens[at - 1] !== "{" && tokens[at - 1] !== "[" && !(fresh && out === "")) line();
        out += token;
        if (depth === 0 && at + 1 < tokens.length && tokens[at + 1] !== ",") line();
      } else if (token === ",") { out += token; line(); } else if (token === ":") out += ": ";
      else { out += token; fresh = false; }
    });
    return out;
  };
  document.addEventListener("toggle", (event) => {
    const details = event.target;
    if (!details.open || details.dataset.ready || !details.closest("[data-json]")) return;
    details.dataset.ready = "yes";
    const payload = details.querySelector(".text pre");
    if (!payload || !payload.firstChild) return;
    const raw = [...payload.childNodes];
    const button = make("button", "Pretty-print", details.querySelector(".text .label"));
    button.type = "button";
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") === "false";
      button.setAttribute("aria-pressed", String(on));
      if (on) payload.textContent = pretty(raw.map((node) => node.textContent).join(""));
      else payload.replaceChildren(...raw);
    });
  }, true);

  // The timeline: point, step, zoom.
  const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
  const svgNode = (name, attributes, text) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text) node.textContent = text;
    return node;
  };
  const timeline = (figure) => {
    const plot = figure.querySelector(".plot");
    const svg = plot.querySelector("svg");
    const ticks = svg.querySelector(".ticks");
    const axis = Number(svg.querySelector(".axis > line").getAttribute("y1"));
    const low = Number(figure.dataset.low), high = Number(figure.dataset.high);
    const octets = figure.dataset.unit === "octets";
    const title = (group) => group.querySelector("title").textContent;
    const order = ["unchecked", "one", "unverified", "several", "part", "mixed", "invalid"];
    const marks = all(svg, ".mark").map((group) => ({
      group, at: Number(group.dataset.t), line: group.querySelector("line"), use: group.querySelector("use"),
      severity: order.findIndex((name) => group.classList.contains(`v-${name}`)),
    }));
    const spans = all(svg, ".span").map((group) => ({
      group, from: Number(group.dataset.t), to: Number(group.dataset.u), lines: all(group, "line"),
    }));
    let from = low, to = high, chosen = null;

    const x = (at) => (at - from) / (to - from) * 100;
    const place = (node, first, second) => {
      node.setAttribute("x1", `${first}%`);
      node.setAttribute("x2", `${second}%`);
    };
    const label = (at, step) => {
      if (octets) return Math.round(at).toLocaleString("en");
      const [unit, name] = units.find(([unit]) => Math.max(Math.abs(from), to) >= unit) || units[3];
      const decimals = Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9));
      return `${(at / unit).toFixed(decimals)}\u00a0${name}`;
    };
    const draw = () => {
      let sign = null;
      for (const mark of marks) {
        const at = x(mark.at);
        const outside = at < -0.01 || at > 100.01;
        mark.group.setAttribute("display", outside ? "none" : "inline");
        place(mark.line, at, at);
        mark.use.setAttribute("x", `${at}%`);
        const crowded = sign && Math.abs(sign.at - at) < 0.8 && sign.severity >= mark.severity;
        mark.group.classList.toggle("crowd", Boolean(crowded));
        if (!crowded && !outside) sign = { at, severity: mark.severity };
      }
      for (const span of spans) {
        const first = x(span.from), last = x(span.to);
        span.group.setAttribute("display", last < -0.01 || first > 100.01 ? "none" : "inline");
        const [start, end] = [Math.max(0, first), Math.min(100, last)];
        place(span.lines[0], start, end);
        if (span.lines[1]) place(span.lines[1], start, start);
        if (span.lines[2]) place(span.lines[2], end, end);
      }
      const rough = (to - from) / Math.max(2, Math.min(6, plot.clientWidth / 120));
      const power = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].map((times) => times * power).find((step) => step >= rough);
      ticks.replaceChildren();
      for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
        const share = `${x(at)}%`;
        ticks.append(svgNode("line", { x1: share, x2: share, y1: axis, y2: axis + 5 }),
          svgNode("text", { x: share, y: axis + 17, "text-anchor": "middle" }, label(at, step)));
      }
      reset.disabled = from === low && to === high;
    };
    const zoom = (first, last) => {
      // No closer than an eighth of a microsecond, or an octet.
      const least = octets ? 1 : 125;
      let middle = (first + last) / 2, half = Math.max(least, last - first) / 2;
      from = Math.max(low, middle - half);
      to = Math.min(high, middle + half);
      if (to - from < least) [from, to] = [low, high];
      draw();
    };
    const scale = (times) => {
      const middle = chosen && chosen.at >= from && chosen.at <= to ? chosen.at : (from + to) / 2;
      zoom(middle - (middle - from) * times, middle + (to - middle) * times);
    };
    const move = (share) => {
      let by = (to - from) * share;
      by = by < 0 ? Math.max(by, low - from) : Math.min(by, high - to);
      from += by;
      to += by;
      draw();
    };
    const choose = (mark) => {
      if (chosen) chosen.group.classList.remove("on");
      chosen = mark;
      if (!mark) return;
      mark.group.classList.add("on");
      told.textContent = title(mark.group);
      if (mark.at < from || mark.at > to) move((mark.at - (from + to) / 2) / (to - from));
    };
    const open = (mark) => {
      const id = `${figure.dataset.rows}-${mark.group.dataset.chunk}`;
      if (!document.getElementById(id)) return;
      if (location.hash === `#${id}`) reveal();
      else location.hash = id;
    };

    // Runs of marks that the whole timeline can't keep apart.
    const bursts = [];
    const near = (high - low) / 150;
    marks.forEach((mark, at) => {
      const last = bursts[bursts.length - 1];
      if (last && mark.at - last.to <= near) { last.to = mark.at; last.count += 1; }
      else bursts.push({ from: mark.at, to: mark.at, count: 1 });
    });
    const dense = bursts.filter((burst) => burst.count > 2 && burst.to > burst.from && bursts.length > 1);

    const controls = make("div", "", figure);
    controls.className = "controls";
    plot.after(controls);
    const button = (text, name, action) => {
      const made = make("button", text, controls);
      made.type = "button";
      if (name) made.setAttribute("aria-label", name);
      made.addEventListener("click", action);
      return made;
    };
    button("+", "Zoom in", () => scale(0.5));
    button("−", "Zoom out", () => scale(2));
    button("←", "Earlier", () => move(-0.4));
    button("→", "Later", () => move(0.4));
    const reset = button("All", "Show all", () => zoom(low, high));
    if (dense.length) {
      let next = 0;
      button(dense.length > 1 ? "Next burst" : "Burst", "", () => {
        const burst = dense[next++ % dense.length];
        const room = (burst.to - burst.from) * 0.12;
        zoom(burst.from - room, burst.to + room);
        told.textContent = `${burst.count} marks within ${label(burst.to - burst.from, (burst.to - burst.from) / 100)}`;
      });
    }
    const told = make("output", "Point at a mark, or drag to zoom. Arrow keys step, Enter opens the octets.", controls);

    plot.classList.add("live");
    plot.tabIndex = 0;
    plot.setAttribute("role", "group");
    plot.setAttribute("aria-label", "Timeline: arrow keys step through the chunks, plus and minus zoom, Enter opens the octets");
    plot.addEventListener("keydown", (event) => {
      const at = marks.indexOf(chosen);
      const keys = {
        ArrowRight: () => choose(marks[Math.min(at + 1, marks.length - 1)]),
        ArrowLeft: () => choose(marks[Math.max(at - 1, 0)]),
        Home: () => choose(marks[0]),
        End: () => choose(marks[marks.length - 1]),
        Enter: () => chosen && open(chosen),
        "+": () => scale(0.5),
        "-": () => scale(2),
        0: () => zoom(low, high),
        Escape: () => zoom(low, high),
      };
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      keys[event.key]();
    });
    const share = (event) => {
      const box = svg.getBoundingClientRect();
      return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    };
    const nearest = (event) => {
      const at = from + share(event) * (to - from);
      let best = null;
      for (const mark of marks) {
        if (mark.at < from || mark.at > to) continue;
        if (!best || Math.abs(mark.at - at) < Math.abs(best.at - at)) best = mark;
      }
      return best && Math.abs(x(best.at) - x(at)) < 3 ? best : null;
    };
    let start = null, band = null;
    plot.addEventListener("pointerdown", (event) => {
      if (event.button === 0 && event.pointerType !== "touch") start = share(event);
    });
    plot.addEventListener("pointermove", (event) => {
      if (start !== null && Math.abs(share(event) - start) > 0.01) {
        if (!band) svg.append(band = svgNode("rect", { class: "select", y: 0, height: axis }));
        band.setAttribute("x", `${Math.min(start, share(event)) * 100}%`);
        band.setAttribute("width", `${Math.abs(share(event) - start) * 100}%`);
        return;
      }
      const span = event.target.closest && event.target.closest(".span");
      if (span) told.textContent = title(span);
      else {
        const mark = nearest(event);
        if (mark && mark !== chosen) choose(mark);
      }
    });
    addEventListener("pointerup", (event) => {
      if (start === null) return;
      const [first, last] = [start, share(event)].sort((a, b) => a - b);
      start = null;
      if (band) {
        band.remove();
        band = null;
        zoom(from + first * (to - from), from + last * (to - from));
      } else if (plot.contains(event.target)) {
        const mark = nearest(event);
        if (mark) { choose(mark); open(mark); }
      }
    });
    plot.addEventListener("dblclick", () => zoom(low, high));
    // Until something is zoomed, the drawing is right as it was written.
    reset.disabled = true;
  };
  all(document, ".timeline").forEach(timeline);
})();
