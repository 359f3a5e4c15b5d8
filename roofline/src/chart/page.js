"use strict";
// The page's behaviour: one state, one function that draws it, listeners that change the state.
window.addEventListener("error", (event) => {
  const problem = document.getElementById("problem");
  problem.textContent = `This page has a mistake: ${event.message}`;
  problem.hidden = false;
});
(() => {
  const $ = (id) => document.getElementById(id);
  const { chart, lines, style, what_if: whatIf } = JSON.parse($("data").textContent);

  // Figures, written as the rest of the program writes them.
  const figure = (value) => {
    if (typeof value !== "number" || !Number.isFinite(value)) return "-";
    const size = Math.abs(value);
    if (size === 0) return "0";
    if (size < 0.0009995 || size >= 999950) return value.toExponential(2).replace("e+", "e");
    const limits = [99.95, 9.995, 0.9995, 0.09995, 0.009995];
    const decimals = limits.findIndex((limit) => size >= limit);
    return value.toFixed(decimals < 0 ? 5 : decimals);
  };
  const percent = (share) => {
    if (typeof share !== "number" || !Number.isFinite(share)) return "-";
    if (share > 0 && share < 0.00095) return "<0.1 %";
    return `${(share * 100).toFixed(Math.abs(share) < 0.0995 ? 1 : 0)} %`;
  };
  const count = (value) => value.toLocaleString("en-US");
  // Names may hold characters that turn what follows them, or that no document can hold.
  const disturbing = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]/g;
  const cut = (whole, most) => {
    const text = whole.replace(disturbing, "\ufffd");
    const letters = Array.from(text.slice(0, most * 4));
    return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : text;
  };
  const drawable = (value) => typeof value === "number" && Number.isFinite(value) && value > 0;

  // Elements are made, never parsed: no text from the data can become markup.
  const fill = (element, attributes, children) => {
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const svg = (name, attributes = {}, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
  const html = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
  const name = (text) => html("bdi", {}, text);
  const px = (value) => String(Math.round(value * 100) / 100);

  const points = chart.points.map((point, index) => ({
    index,
    name: point.name,
    kind: point.group,
    bound: point.bound,
    x: point.intensity_flop_byte,
    y: point.performance_gflop_s,
    share: point.share ?? null,
    roof: point.roof ?? 0,
    details: point.details ?? [],
    words: [point.name, point.group, ...(point.details ?? []).flat()].join("\n").toLowerCase(),
  }));
  const original = points.map(({ x, y, share, bound }) => ({ x, y, share, bound }));
  const kinds = [...new Set(points.map((point) => point.kind))];
  // Sliders may move a point from one bound to the other.
  const bounds = ["memory", "compute", "overhead", "undefined"].filter(
    (bound) => (whatIf && ["memory", "compute"].includes(bound)) || points.some((point) => point.bound === bound)
  );
  const colour = new Map(kinds.map((kind, index) => [kind, index < 8 ? `k${index}` : "kx"]));
  const boundName = (bound) => (bound === "undefined" ? "undefined" : `${bound}-bound`);

  const state = {
    query: "",
    kinds: new Set(kinds),
    bounds: new Set(bounds),
    least: 0,
    roof: -1,
    scale: "log",
    sort: { key: points.some((point) => point.share !== null) ? "share" : "y", down: true },
    chosen: null,
    over: null,
  };

  // What a roof allows at an intensity: read off its line.
  const allowed = (line, x) => {
    const [first, ...rest] = line.vertices;
    if (!first || !drawable(x)) return null;
    let [x0, y0] = first;
    for (const [x1, y1] of rest) {
      if (x <= x1) return y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
      [x0, y0] = [x1, y1];
    }
    return null;
  };
  const roof = () => lines[Math.max(state.roof, 0)];
  // The roof that a point is compared with: the chosen one, else its own, else the first.
  const over = (point) => (state.roof >= 0 ? roof() : (lines[point.roof] ?? roof()));
  const reached = (point) => {
    const most = roof() ? allowed(over(point), point.x) : null;
    return most && drawable(point.y) ? point.y / most : null;
  };

  const shown = (point) =>
    state.kinds.has(point.kind) &&
    (state.bounds.has(point.bound) || !bounds.includes(point.bound)) &&
    (state.least === 0 || (point.share ?? 0) >= state.least) &&
    (state.query === "" || point.words.includes(state.query));

  // Scales: both map a value to 0..1 and know their marks.
  const logScale = (values) => {
    const logs = values.filter(drawable).map(Math.log10);
    let from = logs.reduce((least, log) => Math.min(least, log), Infinity);
    let to = logs.reduce((most, log) => Math.max(most, log), -Infinity);
    if (!logs.length) [from, to] = [0, 0];
    const missing = Math.max((2 - (to - from)) / 2, 0);
    [from, to] = [from - missing, to + missing];
    const superscript = (exponent) =>
      String(exponent).replace(/./g, (digit) => (digit === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]));
    return {
      low: 10 ** from,
      high: 10 ** to,
      at: (value) => (Math.log10(value) - from) / (to - from),
      ticks(most) {
        const [first, last] = [Math.ceil(from), Math.floor(to)];
        const step = Math.max(Math.ceil((last - first + 1) / Math.max(most, 1)), 1);
        const major = [];
        const minor = [];
        for (let decade = Math.floor(from); decade <= Math.ceil(to); decade++) {
          if (decade >= first && decade <= last && decade % step === 0) {
            const plain = decade >= -3 && decade <= 4;
            major.push([10 ** decade, plain ? String(Number(`1e${decade}`)) : `10${superscript(decade)}`]);
          } else if (step > 1 && to - from <= 40) minor.push(10 ** decade);
          if (step === 1 && to - from <= 14) for (let times = 2; times < 10; times++) minor.push(times * 10 ** decade);
        }
        return { major, minor };
      },
    };
  };
  const linearScale = (values) => {
    const high = values.filter(drawable).reduce((most, value) => Math.max(most, value), 0) || 1;
    return {
      low: 0,
      high,
      at: (value) => value / high,
      ticks(most) {
        const rough = high / Math.max(most, 1);
        const size = 10 ** Math.floor(Math.log10(rough));
        const step = [1, 2, 5, 10].map((times) => times * size).find((step) => step >= rough);
        const major = [];
        for (let index = 0; index * step <= high; index++) major.push([index * step, String(Number((index * step).toPrecision(6)))]);
        return { major, minor: major.map(([value]) => value + step / 2) };
      },
    };
  };
  const axes = (visible) => {
    const ridges = lines.map((line) => line.ridge).filter(Boolean);
    const placed = visible.filter((point) => drawable(point.x) && drawable(point.y));
    if (state.scale === "linear") {
      const near = placed.length ? placed.map((point) => point.x * 1.1) : ridges.map((ridge) => ridge[0] * 3);
      const high = [...placed.map((point) => point.y), ...ridges.map((ridge) => ridge[1])];
      return [linearScale(near), linearScale(high.map((value) => value * 1.15))];
    }
    const x = logScale([
      ...placed.flatMap((point) => [point.x / 2, point.x, point.x * 2]),
      ...ridges.flatMap((ridge) => [ridge[0] / 20, ridge[0], ridge[0] * 10]),
    ]);
    const ends = lines.flatMap((line) => [allowed(line, x.low), allowed(line, x.high), line.ridge?.[1]]);
    const y = logScale([...placed.map((point) => point.y), ...ends.filter(drawable)].flatMap((v) => [v / 1.6, v, v * 1.8]));
    return [x, y];
  };

  const shape = (bound, x, y, radius, attributes) => {
    if (bound === "memory") return svg("circle", { ...attributes, cx: px(x), cy: px(y), r: px(radius) });
    if (bound === "compute") {
      const side = radius * 0.9;
      return svg("rect", { ...attributes, x: px(x - side), y: px(y - side), width: px(2 * side), height: px(2 * side) });
    }
    const d = radius * 1.15;
    if (bound === "overhead") {
      return svg("path", { ...attributes, d: `M${px(x)} ${px(y - d)}l${px(d)} ${px(2 * d)}l${px(-2 * d)} 0Z` });
    }
    return svg("path", { ...attributes, d: `M${px(x)} ${px(y - d)}l${px(d)} ${px(d)}l${px(-d)} ${px(d)}l${px(-d)} ${px(-d)}Z` });
  };

  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `12px ${getComputedStyle($("chart")).fontFamily}`;
  const widthOf = (text) => pen.measureText(text).width;

  // Rectangles turned around their centre, and whether two of them share any area.
  const frame = (x, y, w, h, cos = 1, sin = 0) => ({ x, y, w, h, cos, sin });
  const between = ([x0, y0], [x1, y1]) => {
    const length = Math.hypot(x1 - x0, y1 - y0) || 1;
    return frame((x0 + x1) / 2, (y0 + y1) / 2, length, 0.01, (x1 - x0) / length, (y1 - y0) / length);
  };
  const corners = ({ x, y, w, h, cos, sin }) =>
    [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([i, j]) => [x + (i * w * cos - j * h * sin) / 2, y + (i * w * sin + j * h * cos) / 2]);
  const overlap = (a, b) => {
    if (Math.hypot(a.x - b.x, a.y - b.y) > (Math.hypot(a.w, a.h) + Math.hypot(b.w, b.h)) / 2) return false;
    const [mine, others] = [corners(a), corners(b)];
    return [[a.cos, a.sin], [-a.sin, a.cos], [b.cos, b.sin], [-b.sin, b.cos]].every(([u, v]) => {
      const along = (corner) => corner[0] * u + corner[1] * v;
      const [m, o] = [mine.map(along), others.map(along)];
      return Math.max(...m) > Math.min(...o) && Math.max(...o) > Math.min(...m);
    });
  };

  // Draws the state into an SVG element and returns where the points stand.
  const draw = (target, width, height, alone) => {
    target.replaceChildren();
    target.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const visible = points.filter(shown);
    const [x, y] = axes(visible);
    const box = { left: 70, right: width - 18, top: alone ? 68 : 18, bottom: height - (alone ? 96 : 52) };
    const X = (value) => box.left + x.at(value) * (box.right - box.left);
    const Y = (value) => box.bottom - y.at(value) * (box.bottom - box.top);
    const add = (...elements) => target.append(...elements);
    const text = (content, attributes) => svg("text", attributes, content);

    if (alone) add(svg("style", {}, style));
    add(svg("rect", { class: "paper", width, height }));
    if (alone) {
      add(text(cut(chart.title, 80), { class: "title", x: box.left, y: 32 }));
      add(text(cut(chart.subtitle, 120), { class: "subtitle", x: box.left, y: 52 }));
    }

    const columns = x.ticks(Math.floor((box.right - box.left) / 64));
    const rows = y.ticks(Math.floor((box.bottom - box.top) / 36));
    const inside = (value, scale) => scale.at(value) >= 0 && scale.at(value) <= 1;
    const grid = (kind, vertical, horizontal) => {
      const down = vertical.filter((v) => inside(v, x)).map((v) => `M${px(X(v))} ${box.top}V${box.bottom}`);
      const across = horizontal.filter((v) => inside(v, y)).map((v) => `M${box.left} ${px(Y(v))}H${box.right}`);
      add(svg("path", { class: `grid ${kind}`, d: down.concat(across).join("") }));
    };
    grid("minor", columns.minor, rows.minor);
    grid("major", columns.major.map((tick) => tick[0]), rows.major.map((tick) => tick[0]));
    add(svg("path", { class: "axis", d: `M${box.left} ${box.top}V${box.bottom}H${box.right}` }));
    for (const [value, label] of columns.major)
      add(text(label, { class: "tick", x: px(X(value)), y: box.bottom + 18, "text-anchor": "middle" }));
    for (const [value, label] of rows.major)
      add(text(label, { class: "tick", x: box.left - 8, y: px(Y(value)), dy: "0.35em", "text-anchor": "end" }));
    const middle = { x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 };
    add(text("Arithmetic intensity, FLOP/byte", { class: "caption", x: middle.x, y: box.bottom + 40, "text-anchor": "middle" }));
    const turned = `translate(18 ${px(middle.y)}) rotate(-90)`;
    add(text("Performance, GFLOP/s", { class: "caption", transform: turned, "text-anchor": "middle" }));

    // A label that would overlap an earlier one is left out: its figures are in the tip and the table.
    const taken = [];
    const free = (label) =>
      corners(label).every(([x, y]) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom) &&
      !taken.some((other) => overlap(label, other));

    const clip = svg("clipPath", { id: alone ? "plot-alone" : "plot" });
    clip.append(svg("rect", { x: box.left, y: box.top - 4, width: box.right - box.left, height: box.bottom - box.top + 4 }));
    const roofs = svg("g", { "clip-path": `url(#${clip.id})` });
    add(clip, roofs);
    const labels = svg("g");
    const main = roof();
    if (main?.ridge && inside(main.ridge[0], x)) {
      const [left, top] = [X(main.ridge[0]), Y(main.ridge[1])];
      roofs.append(svg("path", { class: "border", d: `M${px(left)} ${px(top)}V${box.bottom}` }));
      const words = [["memory-bound", "end", -8, 0], ["compute-bound", "start", 8, 0], [`ridge ${figure(main.ridge[0])}`, "start", 8, -18]];
      for (const [label, anchor, right, up] of words) {
        const size = widthOf(label) + 6;
        const place = frame(left + right + (Math.sign(right) * size) / 2, box.bottom - 13 + up, size, 16);
        if (!free(place)) continue;
        taken.push(place);
        labels.append(text(label, { class: "word", x: px(left + right), y: box.bottom - 9 + up, "text-anchor": anchor }));
      }
    }
    const pixels = points.filter((point) => drawable(point.x) && drawable(point.y) && shown(point));
    const marks = pixels.map((point) => ({
      point,
      x: X(point.x),
      y: Y(point.y),
      radius: 4.5 + 9 * Math.sqrt(Math.min(Math.max(point.share ?? 0, 0), 1)),
    }));
    marks.sort((a, b) => b.radius - a.radius);

    const paths = lines.map((line) =>
      [x.low, line.ridge?.[0], x.high]
        .filter((value) => value !== undefined && value >= x.low && value <= x.high)
        .map((value) => [value, value === 0 ? 0 : allowed(line, value)])
        .filter((end) => end[1] !== null && (end[1] > 0 || state.scale === "linear"))
        .map(([a, b]) => [X(a), Y(b)])
    );
    // How many roofs but one's own run through a label.
    const crossed = (label, own) =>
      paths.filter((path, index) => index !== own && path.slice(1).some((end, at) => overlap(label, between(path[at], end)))).length;
    const onMark = (mark) => frame(mark.x, mark.y, 2 * mark.radius, 2 * mark.radius);
    // The main roof lies on top of the others, but its labels choose their places first.
    const ranked = lines.map((line, index) => index).sort((a, b) => (lines[b] === main) - (lines[a] === main));
    for (const index of ranked.slice().reverse()) {
      const [line, path] = [lines[index], paths[index]];
      if (path.length < 2) continue;
      const faded = state.roof >= 0 && line !== main ? " faded" : "";
      const group = svg("g", { class: `roof g${line.group % 3}${line === main ? " first" : ""}${faded}`, "data-roof": index });
      group.append(svg("title", {}, [cut(line.name, 200), ...line.figures].join("\n")));
      group.append(svg("path", { d: `M${path.map(([a, b]) => `${px(a)} ${px(b)}`).join("L")}` }));
      if (path.length === 3) group.append(svg("circle", { cx: px(path[1][0]), cy: px(path[1][1]), r: 3 }));
      roofs.append(group);
    }
    const along = (index, label, from, to, at) => {
      const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
      const way = [(to[0] - from[0]) / length, (to[1] - from[1]) / length];
      const size = widthOf(label);
      if (size + 16 > length) return false;
      let best = null;
      for (let step = 0; step <= 20; step++)
        for (const above of [1, -1]) {
          const middle = size / 2 + 8 + (step / 20) * (length - size - 16);
          const [x, y] = [from[0] + way[0] * middle + way[1] * 11 * above, from[1] + way[1] * middle - way[0] * 11 * above];
          const label = frame(x, y, size, 14, ...way);
          if (!free(label) || crossed(label, index) || marks.some((mark) => overlap(label, onMark(mark)))) continue;
          const cost = Math.abs(step / 20 - at) + (above < 0 ? 0.15 : 0);
          if (!best || cost < best.cost) best = { cost, label };
        }
      if (!best) return false;
      taken.push(best.label);
      const { x, y, cos, sin } = best.label;
      const place = `translate(${px(x)} ${px(y)}) rotate(${px((Math.atan2(sin, cos) * 180) / Math.PI)})`;
      const attributes = { class: "along", transform: place, dy: "0.35em", "text-anchor": "middle" };
      labels.append(svg("g", { class: `roof${lines[index] === main ? " first" : ""}` }, text(label, attributes)));
      return true;
    };
    for (const index of ranked) {
      const [line, path] = [lines[index], paths[index]];
      if (path.length < 2 || (state.roof >= 0 && line !== main)) continue;
      // A figure alone where its name finds no room.
      const write = (figure, from, to, at) => along(index, `${cut(line.name, 48)}  ${figure}`, from, to, at) || along(index, figure, from, to, at);
      if (line.slope && (path.length === 3 || !line.flat)) write(line.slope, path[0], path[1], 0.4);
      if (line.flat) write(line.flat, path.at(-2), path.at(-1), 1);
    }
    const layer = svg("g");
    for (const mark of marks) {
      const { point } = mark;
      const faded = state.chosen !== null && state.chosen !== point.index ? " faded" : "";
      const element = shape(point.bound, mark.x, mark.y, mark.radius, { class: `mark ${colour.get(point.kind)}${faded}`, "data-point": point.index });
      if (state.chosen === point.index) element.classList.add("chosen");
      if (alone) element.append(svg("title", {}, `${cut(point.name, 200)}\n${figure(point.x)} FLOP/byte, ${figure(point.y)} GFLOP/s`));
      layer.append(element);
      mark.element = element;
    }
    add(layer);
    const named = state.chosen === null ? marks.slice().sort((a, b) => (b.point.share ?? 0) - (a.point.share ?? 0)) : marks.filter((mark) => mark.point.index === state.chosen);
    // Fourteen names can be read at once; a few hundred places are tried, each once.
    const tried = [];
    let written = 0;
    for (const mark of named) {
      if (written >= 14 || tried.length >= 400) break;
      if (tried.some((other) => Math.hypot(other.x - mark.x, other.y - mark.y) < 10)) continue;
      tried.push(mark);
      const here = marks.filter((other) => Math.hypot(other.x - mark.x, other.y - mark.y) < 10).length - 1;
      const label = cut(mark.point.name, 28) + (here > 0 && state.chosen === null ? ` +${count(here)}` : "");
      const size = widthOf(label);
      const reach = mark.radius + 5;
      const places = [["start", reach, 0], ["end", -reach, 0], ["middle", 0, -reach - 8], ["middle", 0, reach + 8]];
      let best = null;
      places.forEach(([anchor, right, down], rank) => {
        const shift = { start: size / 2, middle: 0, end: -size / 2 }[anchor];
        const place = frame(mark.x + right + shift, mark.y + down, size + 4, 15);
        const hides = marks.some((other) => Math.hypot(other.x - mark.x, other.y - mark.y) >= 10 && overlap(place, onMark(other)));
        if (hides || !free(place)) return;
        const cost = rank * 0.3 + crossed(place, -1);
        if (!best || cost < best.cost) best = { cost, place, anchor, right, down };
      });
      if (!best) continue;
      taken.push(best.place);
      written++;
      const at = { x: px(mark.x + best.right), y: px(mark.y + best.down), dy: "0.35em", "text-anchor": best.anchor };
      labels.append(text(label, { class: "name", ...at, "pointer-events": "none" }));
    }
    add(labels);
    if (alone) {
      let left = box.left + 6;
      for (const kind of kinds.filter((kind) => kind && marks.some((mark) => mark.point.kind === kind))) {
        const label = cut(kind, 28);
        if (left + widthOf(label) + 12 > box.right) break;
        add(shape("memory", left, height - 24, 5, { class: `mark ${colour.get(kind)}` }));
        add(text(label, { class: "entry", x: px(left + 12), y: height - 24, dy: "0.35em" }));
        left += widthOf(label) + 40;
      }
    }
    return marks;
  };

  let marks = [];
  const redraw = () => {
    const width = Math.max($("stage").clientWidth - 16, 280);
    const height = Math.min(Math.max(Math.round(width * 0.6), 320), 620);
    $("chart").style.height = `${height}px`;
    marks = draw($("chart"), width, height, false);
    hover(null);
  };

  // Facts of a point, as pairs.
  const facts = (point) => [
    ...(point.kind ? [["kind", point.kind]] : []),
    ["FLOP/byte", figure(point.x)],
    ["GFLOP/s", figure(point.y)],
    ...(roof() ? [[`of ${cut(over(point).name, 40)}`, percent(reached(point))]] : []),
    ...(point.share === null ? [] : [["time", percent(point.share)]]),
    ["bound", point.bound],
    ...point.details,
  ];
  const listFacts = (target, pairs) =>
    target.replaceChildren(...pairs.flatMap(([key, value]) => [html("dt", {}, cut(key, 200)), html("dd", {}, name(cut(value, 400)))]));
  const companions = (mark) => marks.filter((other) => other !== mark && Math.hypot(other.x - mark.x, other.y - mark.y) < 8);

  const hover = (mark) => {
    for (const old of document.querySelectorAll(".over")) old.classList.remove("over");
    state.over = mark ? mark.point.index : null;
    const tip = $("tip");
    tip.hidden = !mark;
    if (!mark) return;
    mark.element.classList.add("over");
    mark.element.parentNode.append(mark.element);
    rows.get(mark.point.index)?.classList.add("over");
    const more = companions(mark);
    const list = html("dl");
    listFacts(list, facts(mark.point));
    tip.replaceChildren(html("strong", {}, name(cut(mark.point.name, 300))), list);
    if (more.length) {
      tip.append(html("p", {}, `and ${count(more.length)} more here`));
      for (const other of more.slice(0, 5)) tip.append(html("div", { class: "clip" }, name(cut(other.point.name, 80))));
    }
    const stage = $("stage");
    const scale = $("chart").clientWidth / $("chart").viewBox.baseVal.width;
    const [x, y] = [mark.x * scale + 8, mark.y * scale + 8];
    tip.style.left = `${x + 16 + tip.offsetWidth > stage.clientWidth ? Math.max(x - 16 - tip.offsetWidth, 0) : x + 16}px`;
    tip.style.top = `${Math.max(Math.min(y - 20, stage.clientHeight - tip.offsetHeight - 4), 4)}px`;
  };
  const nearest = (event) => {
    const frame = $("chart").getBoundingClientRect();
    const scale = $("chart").viewBox.baseVal.width / frame.width;
    const [x, y] = [(event.clientX - frame.left) * scale, (event.clientY - frame.top) * scale];
    let best = null;
    let least = Infinity;
    for (const mark of marks) {
      const distance = Math.hypot(mark.x - x, mark.y - y) - mark.radius;
      if (distance < 8 && distance < least) [best, least] = [mark, distance];
    }
    return best;
  };
  const speak = (point) => {
    $("spoken").textContent = `${cut(point.name, 200)}: ${facts(point).map(([key, value]) => `${key} ${value}`).join(", ")}`;
  };

  const choose = (index) => {
    state.chosen = index;
    for (const row of $("rows").querySelectorAll(".chosen")) row.classList.remove("chosen");
    $("chosen").hidden = index === null;
    redraw();
    if (index === null) return;
    const point = points[index];
    if (!rows.has(index)) extend(listed.indexOf(point) + 1);
    const row = rows.get(index);
    if (row) {
      row.classList.add("chosen");
      const { offsetTop, offsetHeight } = row;
      const { scrollTop, clientHeight } = $("scroll");
      if (offsetTop < scrollTop + 40 || offsetTop + offsetHeight > scrollTop + clientHeight) $("scroll").scrollTop = offsetTop - 60;
    }
    $("chosen-name").textContent = cut(point.name, 400);
    listFacts($("chosen-facts"), facts(point));
    const mark = marks.find((mark) => mark.point === point);
    const others = mark ? companions(mark) : [];
    $("chosen-others").replaceChildren();
    if (others.length) $("chosen-others").append(html("p", {}, `${count(others.length)} more at the same place`));
    for (const other of others.slice(0, 8)) {
      const button = html("button", { type: "button" }, name(cut(other.point.name, 80)));
      button.addEventListener("click", () => choose(other.point.index));
      $("chosen-others").append(button);
    }
    speak(point);
  };

  // The table: the operations shown, in order; rows are made as far as someone has scrolled.
  const figures = [
    { key: "name", label: "Operation", value: (point) => point.name, show: (point) => cut(point.name, 300) },
    { key: "kind", label: "Kind", value: (point) => point.kind, show: (point) => cut(point.kind, 100) },
    { key: "x", label: "FLOP/byte", value: (point) => point.x, show: (point) => figure(point.x) },
    { key: "y", label: "GFLOP/s", value: (point) => point.y, show: (point) => figure(point.y) },
    { key: "reached", label: "of roof", value: reached, show: (point) => percent(reached(point)) },
    { key: "share", label: "Time", value: (point) => point.share, show: (point) => percent(point.share) },
    { key: "bound", label: "Bound", value: (point) => point.bound, show: (point) => point.bound },
  ];
  const timed = points.some((point) => point.share !== null) || whatIf?.recipes.some((recipe) => recipe.time);
  const columns = figures.filter((column) => timed || column.key !== "share");
  const isFigure = (column) => ["x", "y", "reached", "share"].includes(column.key);
  const batch = 100;
  let ordered = [];
  let listed = [];
  const rows = new Map();
  const rowFor = (point) => {
    const cells = columns.map((column) => {
      const content = column.show(point);
      return isFigure(column) ? html("td", { class: "figure" }, content) : html("td", {}, name(content));
    });
    const row = html("tr", { "data-point": point.index, tabindex: rows.size ? -1 : 0 }, ...cells);
    if (point.index === state.chosen) row.classList.add("chosen");
    rows.set(point.index, row);
    return row;
  };
  const extend = (least) => $("rows").append(...listed.slice(rows.size, Math.max(least, rows.size)).map(rowFor));
  const collator = new Intl.Collator("en", { numeric: true });
  const sorted = () => {
    const column = columns.find((column) => column.key === state.sort.key);
    const keys = points.map(column.value);
    const sign = state.sort.down ? -1 : 1;
    const missing = (key) => key === null || key === undefined || key !== key;
    return points.slice().sort((a, b) => {
      const [first, second] = [keys[a.index], keys[b.index]];
      if (missing(first) || missing(second)) return missing(first) - missing(second);
      const way = typeof first === "string" ? collator.compare(first, second) : first - second;
      return sign * way || a.index - b.index;
    });
  };
  const order = () => {
    ordered = sorted();
    for (const heading of $("headings").children) {
      if (heading.dataset.key === state.sort.key) heading.setAttribute("aria-sort", state.sort.down ? "descending" : "ascending");
      else heading.removeAttribute("aria-sort");
    }
  };
  const list = () => {
    listed = ordered.filter(shown);
    rows.clear();
    $("rows").replaceChildren();
    extend(batch);
    const nowhere = listed.filter((point) => !(drawable(point.x) && drawable(point.y))).length;
    $("count").textContent = `${count(listed.length)} of ${count(points.length)}${nowhere ? `, ${count(nowhere)} without a place on the chart` : ""}`;
  };
  const refresh = () => {
    for (const recount of recounts) recount();
    list();
    redraw();
  };
  $("scroll").addEventListener("scroll", () => {
    const { scrollTop, clientHeight, scrollHeight } = $("scroll");
    if (scrollTop + clientHeight > scrollHeight - 400) extend(rows.size + batch);
  });
  window.addEventListener("beforeprint", () => extend(listed.length));

  for (const column of columns) {
    const button = html("button", { type: "button" }, column.label);
    const heading = html("th", { "data-key": column.key, scope: "col", ...(isFigure(column) ? { class: "figure" } : {}) }, button);
    button.addEventListener("click", () => {
      state.sort = { key: column.key, down: state.sort.key === column.key ? !state.sort.down : isFigure(column) };
      order();
      list();
    });
    $("headings").append(heading);
  }

  // Controls.
  const recounts = [];
  const choices = (target, key, all, selected, swatch, label) => {
    const list = html("div", { class: "choices" });
    for (const value of all.slice(0, 200)) {
      const box = html("input", { type: "checkbox", value });
      box.checked = true;
      box.addEventListener("change", () => {
        if (box.checked) selected.add(value);
        else selected.delete(value);
        refresh();
      });
      const picture = svg("svg", { viewBox: "0 0 14 14", "aria-hidden": "true" }, swatch(value));
      const size = html("small");
      recounts.push(() => (size.textContent = count(points.filter((point) => point[key] === value).length)));
      list.append(html("label", { class: "choice" }, box, picture, html("span", {}, name(label(value))), size));
    }
    target.append(list);
    target.hidden = all.length < 2;
  };
  choices($("kinds"), "kind", kinds, state.kinds, (kind) => shape("memory", 7, 7, 5, { class: `mark ${colour.get(kind)}` }), (kind) => cut(kind, 60) || "none");
  choices($("bounds"), "bound", bounds, state.bounds, (bound) => shape(bound, 7, 7, 5, { class: "mark shape" }), boundName);

  const stops = [0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5];
  $("least").max = stops.length - 1;
  const least = () => {
    state.least = stops[Number($("least").value)];
    const words = state.least ? `${figure(state.least * 100).replace(/\.?0+$/, "")} %` : "any";
    $("least-value").textContent = words;
    $("least").setAttribute("aria-valuetext", words);
  };
  $("least").addEventListener("input", () => {
    least();
    refresh();
  });
  least();
  $("least").closest("label").hidden = !timed;

  $("roof").append(html("option", { value: -1 }, "all"), ...lines.map((line, index) => html("option", { value: index }, cut(line.name, 60))));
  $("roof").addEventListener("change", () => {
    state.roof = Number($("roof").value);
    recompute();
  });
  $("roof").closest("label").hidden = lines.length < 2;
  for (const scale of ["log", "linear"])
    $(`scale-${scale}`).addEventListener("click", () => {
      state.scale = scale;
      $("scale-log").setAttribute("aria-pressed", scale === "log");
      $("scale-linear").setAttribute("aria-pressed", scale === "linear");
      redraw();
    });
  $("search").addEventListener("input", () => {
    state.query = $("search").value.trim().toLowerCase();
    refresh();
  });
  $("show-all").addEventListener("click", () => choose(null));

  // Pointing, clicking and keys on the chart and in the table.
  $("chart").addEventListener("pointermove", (event) => {
    const mark = nearest(event);
    if ((mark ? mark.point.index : null) !== state.over) hover(mark);
  });
  $("chart").addEventListener("pointerleave", () => hover(null));
  $("chart").addEventListener("click", (event) => {
    const mark = nearest(event);
    choose(mark && mark.point.index !== state.chosen ? mark.point.index : null);
  });
  $("chart").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step && marks.length) {
      event.preventDefault();
      const way = marks.slice().sort((a, b) => a.x - b.x || b.y - a.y);
      const current = way.findIndex((mark) => mark.point.index === state.over);
      const next = way[current < 0 ? (step > 0 ? 0 : way.length - 1) : (current + step + way.length) % way.length];
      hover(next);
      speak(next.point);
    } else if (event.key === "Enter" && state.over !== null) choose(state.over === state.chosen ? null : state.over);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    hover(null);
    if (state.chosen !== null) choose(null);
  });
  const rowAt = (event) => event.target.closest("tr[data-point]");
  $("rows").addEventListener("click", (event) => {
    const index = Number(rowAt(event).dataset.point);
    choose(index === state.chosen ? null : index);
  });
  $("rows").addEventListener("pointerover", (event) => hover(marks.find((mark) => mark.point.index === Number(rowAt(event)?.dataset.point)) ?? null));
  $("rows").addEventListener("pointerleave", () => hover(null));
  $("rows").addEventListener("keydown", (event) => {
    const row = rowAt(event);
    if (!row) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      row.click();
      row.focus();
    }
    const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
    if (!step) return;
    event.preventDefault();
    if (!row.nextElementSibling) extend(rows.size + batch);
    const next = row[step];
    if (!next) return;
    row.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });

  // What if: the equations come with the data; here they are only called, in the order the data gives.
  const sliders = {};
  let moved = false;
  let equations = {};
  const called = () => [...(whatIf.recipes ?? []).flatMap((recipe) => recipe.steps), ...(whatIf.summary?.steps ?? [])];
  // Null where a value is outside the domain that the contract was proven for, or values do not meet what it requires.
  const run = (steps, known) => {
    for (const step of steps) {
      const module = step.function.split(".")[0];
      const within = equations[`${module}.$within`];
      if (equations[`${module}.$unmet`](known).length > 0) return null;
      for (const argument of step.arguments) {
        if (!(argument in known)) throw new Error(`${step.function} needs ${argument}, which nothing gives`);
        if (!within(argument, known[argument])) return null;
      }
      known[step.result] = equations[step.function](...step.arguments.map((argument) => known[argument]));
    }
    return known;
  };
  const placed = (moves) => (moves ? Object.fromEntries(Object.entries(moves).map(([input, slider]) => [input, sliders[slider]])) : sliders);
  const recompute = () => {
    points.forEach((point, index) => Object.assign(point, original[index]));
    if (whatIf) {
      const limits = roof() ? { [whatIf.bandwidth]: roof().bandwidth_gb_s, [whatIf.compute]: roof().compute_gflop_s } : {};
      const common = { ...whatIf.inputs, ...limits };
      let total = 0;
      const times = [];
      const summed = (recipe) => Object.entries({ ...whatIf.summary?.sums, ...recipe.sums });
      const sums = Object.fromEntries(whatIf.recipes.flatMap(summed).map(([name]) => [name, 0]));
      for (const operation of whatIf.operations) {
        const recipe = whatIf.recipes[operation.recipe];
        const known = run(recipe.steps, { ...common, ...operation.inputs, ...placed(recipe.moves) });
        const point = points[operation.point];
        if (!known) {
          if (moved) Object.assign(point, { x: null, y: null, share: null, bound: "undefined" });
          for (const name of Object.keys(sums)) sums[name] = NaN;
          continue;
        }
        if (moved) {
          point.x = known[recipe.intensity];
          point.y = known[recipe.performance];
          const bound = String(known[recipe.bound] ?? "").toLowerCase();
          if (recipe.bound) point.bound = ["memory", "compute", "overhead"].includes(bound) ? bound : "undefined";
          if (recipe.time) times.push([point, known[recipe.time]]);
          if (recipe.time) total += known[recipe.time];
        }
        for (const [name, result] of summed(recipe)) sums[name] += known[result];
      }
      for (const [point, time] of times) point.share = total > 0 ? time / total : null;
      if (whatIf.summary) {
        const known = run(whatIf.summary.steps, { ...common, ...whatIf.summary.inputs, ...sums, ...placed(whatIf.summary.moves) }) ?? {};
        listFacts($("what-if-summary"), whatIf.summary.shown.map((line) => [line.label, `${figure(known[line.result] / (line.per ?? 1))} ${line.unit}`.trimEnd()]));
        // The whole figure, for whoever wants more digits than are shown.
        whatIf.summary.shown.forEach((line, index) => {
          const value = $("what-if-summary").querySelectorAll("dd")[index];
          value.dataset.result = line.result;
          value.title = String(known[line.result]);
        });
      }
    }
    order();
    refresh();
    if (state.chosen !== null) choose(state.chosen);
  };
  if (whatIf) {
    const names = [...new Set(called().map((step) => step.function))];
    if (!names.every((name) => /^[A-Za-z_]\w*\.[A-Za-z_]\w*$/.test(name))) throw new Error("an equation's name is not a name");
    const modules = [...new Set(names.map((name) => name.split(".")[0]))];
    const guards = modules.flatMap((module) => [`${module}.$within`, `${module}.$unmet`]);
    equations = new Function(`"use strict";\n${whatIf.module}\nreturn {${[...names, ...guards].map((name) => `"${name}": ${name}`).join(", ")}};`)();
    const outputs = [];
    for (const slider of whatIf.sliders) {
      const start = Math.max(slider.stops.indexOf(slider.start), 0);
      const input = html("input", { type: "range", min: 0, max: slider.stops.length - 1, step: 1, value: start, id: `what-if-${slider.quantity}` });
      const output = html("output", { for: input.id });
      const show = () => {
        sliders[slider.quantity] = slider.stops[Number(input.value)];
        output.textContent = count(sliders[slider.quantity]);
        input.setAttribute("aria-valuetext", output.textContent);
      };
      input.addEventListener("input", () => {
        moved = true;
        show();
        recompute();
      });
      show();
      outputs.push(() => {
        input.value = start;
        show();
      });
      $("what-if-sliders").append(html("label", { class: "stack" }, html("span", {}, slider.label, output), input));
    }
    $("what-if-reset").addEventListener("click", () => {
      moved = false;
      for (const reset of outputs) reset();
      recompute();
    });
    $("what-if").hidden = false;
  }

  // Export: the picture as it stands, with its own style; the table as it is ordered and filtered.
  const save = (content, type, extension) => {
    const link = html("a", { download: `roofline.${extension}`, href: URL.createObjectURL(new Blob([content], { type })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const picture = () => {
    const target = svg("svg", { xmlns: "http://www.w3.org/2000/svg", class: "roofline", width: 960, height: 640, role: "img" });
    draw(target, 960, 640, true);
    target.prepend(svg("title", {}, cut(chart.title, 200)));
    return new XMLSerializer().serializeToString(target);
  };
  $("export-svg").addEventListener("click", () => save(picture(), "image/svg+xml", "svg"));
  $("export-png").addEventListener("click", async () => {
    const image = new Image(960, 640);
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(picture())}`;
    await image.decode();
    const canvas = html("canvas", { width: 1920, height: 1280 });
    canvas.getContext("2d").drawImage(image, 0, 0, 1920, 1280);
    canvas.toBlob((blob) => save(blob, "image/png", "png"), "image/png");
  });
  $("export-csv").addEventListener("click", () => {
    const quote = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
    const lines = listed.map((point) => figures.map((column) => quote(String(column.value(point) ?? ""))).join(","));
    const heading = "name,kind,flop_per_byte,gflop_s,of_roof,share,bound";
    save([heading, ...lines].map((line) => `${line}\r\n`).join(""), "text/csv", "csv");
  });

  $("list").hidden = !points.length;
  $("export-csv").hidden = !points.length;
  recompute();
  new ResizeObserver(() => redraw()).observe($("stage"));
})();
