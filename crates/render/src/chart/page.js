"use strict";
// Behavior of the page: one state object, one function that draws it, and listeners that change it.
window.addEventListener("error", (event) => {
  const problem = document.getElementById("problem");
  problem.textContent = `Error in this page: ${event.message}`;
  problem.hidden = false;
});
(() => {
  const $ = (id) => document.getElementById(id);
  const { chart, lines, style, what_if: whatIf, bars: barCharts = [], tables = [], notes = [] } = JSON.parse($("data").textContent);

  // Number formats, identical to those of the command line.
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
  // Control and bidirectional formatting characters, which names from files may contain.
  const unsafeCharacters = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]/g;
  const cut = (whole, most) => {
    const text = whole.replace(unsafeCharacters, "\ufffd");
    const letters = Array.from(text.slice(0, most * 4));
    return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : text;
  };
  const drawable = (value) => typeof value === "number" && Number.isFinite(value) && value > 0;

  // Elements are created, never parsed, so that text from the data cannot become markup.
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
    results: {},
    words: [point.name, point.group, ...(point.details ?? []).flat()].join("\n").toLowerCase(),
  }));
  const original = points.map(({ x, y, share, bound, details, results }) => ({ x, y, share, bound, details, results }));
  const drawn = lines.map(({ vertices, ridge, slope, flat, figures }) => ({ vertices, ridge, slope, flat, figures }));
  const kinds = [...new Set(points.map((point) => point.kind))];
  // Sliders may move a point from memory-bound to compute-bound.
  const bounds = ["memory", "compute", "overhead", "undefined"].filter(
    (bound) => (whatIf && ["memory", "compute"].includes(bound)) || points.some((point) => point.bound === bound)
  );
  const color = new Map(kinds.map((kind, index) => [kind, index < 8 ? `k${index}` : "kx"]));
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
    // Ends of both axes in units of their scale; null shows everything.
    view: null,
    subject: 0,
    bars: 0,
    allBars: false,
  };

  // Selectable subjects, such as devices, and their roofs.
  const subjects = whatIf?.summary?.subjects ?? [];
  const roofOf = (subject) => points[whatIf.operations[subject.operation].point].roof;

  // Attainable performance of a roof at an intensity, interpolated on its line.
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
  // With many roofs, the roof of the selected device is emphasized and the others are faded.
  const crowded = lines.length > 12;
  const roof = () => lines[state.roof >= 0 ? state.roof : crowded && subjects.length ? roofOf(subjects[state.subject]) : 0];
  // The roof that a point is compared with: the selected roof if it belongs to the same machine, otherwise its own or the first.
  const over = (point) => {
    const own = lines[point.roof] ?? lines[0];
    if (state.roof < 0) return own;
    return own && own.group === roof().group ? roof() : null;
  };
  const reached = (point) => {
    const line = over(point);
    const most = line ? allowed(line, point.x) : null;
    return most && drawable(point.y) ? point.y / most : null;
  };
  // A share above 100 % is meaningless: the roof does not limit this point.
  const ofRoof = (share) => (share !== null && share > 1.005 ? "above" : percent(share));

  const shown = (point) =>
    state.kinds.has(point.kind) &&
    (state.bounds.has(point.bound) || !bounds.includes(point.bound)) &&
    (state.least === 0 || (point.share ?? 0) >= state.least) &&
    (state.query === "" || point.words.includes(state.query));

  // Scales map a value to 0..1 between two ends and compute the ticks. The ends of a logarithmic scale are in decades.
  const nice = (low, high, most) => {
    const rough = (high - low) / Math.max(most, 1);
    const size = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((times) => times * size).find((step) => step >= rough);
    const major = [];
    for (let index = Math.ceil(low / step); index * step <= high; index++) major.push([index * step, String(Number((index * step).toPrecision(6)))]);
    return { major, minor: major.map(([value]) => value + step / 2) };
  };
  const logScale = (from, to) => {
    const superscript = (exponent) =>
      String(exponent).replace(/./g, (digit) => (digit === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]));
    return {
      low: 10 ** from,
      high: 10 ** to,
      at: (value) => (Math.log10(value) - from) / (to - from),
      ticks(most) {
        const [first, last] = [Math.ceil(from), Math.floor(to)];
        // When zoomed in this far, powers of ten would leave the axis without labels.
        if (last - first < 1) return nice(10 ** from, 10 ** to, Math.min(most, 6));
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
  const linearScale = (low, high) => ({
    low,
    high,
    at: (value) => (value - low) / (high - low),
    ticks: (most) => nice(low, high, most),
  });
  const logEnds = (values) => {
    const logs = values.filter(drawable).map(Math.log10);
    let from = logs.reduce((least, log) => Math.min(least, log), Infinity);
    let to = logs.reduce((most, log) => Math.max(most, log), -Infinity);
    if (!logs.length) [from, to] = [0, 0];
    const missing = Math.max((2 - (to - from)) / 2, 0);
    return [from - missing, to + missing];
  };
  const linearEnds = (values) => [0, values.filter(drawable).reduce((most, value) => Math.max(most, value), 0) || 1];
  // Ends of both axes that include every ridge and every visible point.
  const whole = () => {
    const ridges = lines.map((line) => line.ridge).filter(Boolean);
    const placed = points.filter((point) => shown(point) && drawable(point.x) && drawable(point.y));
    if (state.scale === "linear") {
      const near = placed.length ? placed.map((point) => point.x * 1.1) : ridges.map((ridge) => ridge[0] * 3);
      const high = [...placed.map((point) => point.y), ...ridges.map((ridge) => ridge[1])];
      return [linearEnds(near), linearEnds(high.map((value) => value * 1.15))];
    }
    const x = logEnds([
      ...placed.flatMap((point) => [point.x / 2, point.x, point.x * 2]),
      ...ridges.flatMap((ridge) => [ridge[0] / 20, ridge[0], ridge[0] * 10]),
    ]);
    const ends = lines.flatMap((line) => [allowed(line, 10 ** x[0]), allowed(line, 10 ** x[1]), line.ridge?.[1]]);
    return [x, logEnds([...placed.map((point) => point.y), ...ends.filter(drawable)].flatMap((v) => [v / 1.6, v, v * 1.8]))];
  };
  const axes = () => (state.view ?? whole()).map(([from, to]) => (state.scale === "linear" ? linearScale : logScale)(from, to));

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

  // Rotated rectangles, and the test for overlap (separating axes).
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

  // Draws the state into an SVG element and returns the positions of the points.
  const draw = (target, width, height, alone) => {
    target.replaceChildren();
    target.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const [x, y] = axes();
    const box = { left: 70, right: width - 18, top: alone ? 68 : 18, bottom: height - (alone ? 96 : 52) };
    const X = (value) => box.left + x.at(value) * (box.right - box.left);
    const Y = (value) => box.bottom - y.at(value) * (box.bottom - box.top);
    const add = (...elements) => target.append(...elements);
    const text = (content, attributes) => svg("text", attributes, content);

    if (alone) add(svg("style", {}, style));
    add(svg("rect", { class: "paper", width, height }));
    if (alone) {
      add(text(cut(chart.title, 80), { class: "title", x: box.left, y: 32 }));
      add(text(cut($("subtitle").textContent, 120), { class: "subtitle", x: box.left, y: 52 }));
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
    for (const [value, label] of columns.major.filter((tick) => inside(tick[0], x)))
      add(text(label, { class: "tick", x: px(X(value)), y: box.bottom + 18, "text-anchor": "middle" }));
    for (const [value, label] of rows.major.filter((tick) => inside(tick[0], y)))
      add(text(label, { class: "tick", x: box.left - 8, y: px(Y(value)), dy: "0.35em", "text-anchor": "end" }));
    const middle = { x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 };
    add(text("Arithmetic intensity, FLOP/byte", { class: "caption", x: middle.x, y: box.bottom + 40, "text-anchor": "middle" }));
    const turned = `translate(18 ${px(middle.y)}) rotate(-90)`;
    add(text("Performance, GFLOP/s", { class: "caption", transform: turned, "text-anchor": "middle" }));

    // A label that would overlap an earlier one is omitted; the tooltip and the table show its figures.
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
    if (main?.ridge && inside(main.ridge[0], x) && y.at(main.ridge[1]) > 0) {
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
    const pixels = points.filter((point) => drawable(point.x) && drawable(point.y) && shown(point) && inside(point.x, x) && inside(point.y, y));
    const marks = pixels.map((point) => ({
      point,
      x: X(point.x),
      y: Y(point.y),
      radius: 4.5 + 9 * Math.sqrt(Math.min(Math.max(point.share ?? 0, 0), 1)),
    }));
    marks.sort((a, b) => b.radius - a.radius);

    const paths = lines.map((line) =>
      [x.low, ...line.vertices.map((vertex) => vertex[0]).filter((value) => value > x.low && value < x.high), x.high]
        .map((value) => [value, value === 0 ? 0 : allowed(line, value)])
        .filter((end) => end[1] !== null && (end[1] > 0 || state.scale === "linear"))
        .map(([a, b]) => [X(a), Y(b)])
    );
    // Number of other roofs that cross a label.
    const crossed = (label, own) =>
      paths.filter((path, index) => index !== own && path.slice(1).some((end, at) => overlap(label, between(path[at], end)))).length;
    const onMark = (mark) => frame(mark.x, mark.y, 2 * mark.radius, 2 * mark.radius);
    // The main roof is drawn last, on top, but its labels are placed first.
    const ranked = lines.map((line, index) => index).sort((a, b) => (lines[b] === main) - (lines[a] === main));
    for (const index of ranked.slice().reverse()) {
      const [line, path] = [lines[index], paths[index]];
      if (path.length < 2) continue;
      const faded = (state.roof >= 0 || crowded) && line !== main ? " faded" : "";
      const group = svg("g", { class: `roof g${line.group % 3}${line === main ? " first" : ""}${faded}`, "data-roof": index });
      group.append(svg("title", {}, [cut(line.name, 200), ...line.figures].join("\n")));
      group.append(svg("path", { d: `M${path.map(([a, b]) => `${px(a)} ${px(b)}`).join("L")}` }));
      if (line.ridge && inside(line.ridge[0], x)) group.append(svg("circle", { cx: px(X(line.ridge[0])), cy: px(Y(line.ridge[1])), r: 3 }));
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
    const writeNames = () => {
      const named = state.chosen === null ? marks.slice().sort((a, b) => (b.point.share ?? 0) - (a.point.share ?? 0)) : marks.filter((mark) => mark.point.index === state.chosen);
      // At most 14 names stay legible; up to 400 positions are tried.
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
        const places = [
          ["start", reach, 0], ["end", -reach, 0], ["middle", 0, -reach - 8], ["middle", 0, reach + 8],
          ["start", reach, -reach - 4], ["start", reach, reach + 4], ["end", -reach, -reach - 4], ["end", -reach, reach + 4],
        ];
        let best = null;
        places.forEach(([anchor, right, down], rank) => {
          const shift = { start: size / 2, middle: 0, end: -size / 2 }[anchor];
          const place = frame(mark.x + right + shift, mark.y + down, size + 4, 15);
          const hides = marks.some((other) => Math.hypot(other.x - mark.x, other.y - mark.y) >= 10 && overlap(place, onMark(other)));
          if (hides || !free(place)) return;
          const cost = rank * 0.12 + crossed(place, -1);
          if (!best || cost < best.cost) best = { cost, place, anchor, right, down };
        });
        if (!best) continue;
        taken.push(best.place);
        written++;
        const at = { x: px(mark.x + best.right), y: px(mark.y + best.down), dy: "0.35em", "text-anchor": best.anchor };
        labels.append(text(label, { class: "name", ...at, "pointer-events": "none" }));
      }
    };
    // With few points, their names are placed before the labels of the roofs; with many, after them.
    const few = marks.length <= 12;
    if (few) writeNames();
    const inBox = ([x, y]) => [Math.min(Math.max(x, box.left), box.right), y];
    const labeled = new Set();
    for (const index of ranked) {
      const [line, path] = [lines[index], paths[index]];
      if (path.length < 2 || ((state.roof >= 0 || crowded) && line !== main)) continue;
      // Roofs that share a slope or a flat part are labeled once; without room for the name, only the figure is shown.
      const write = (figure, from, to, at) => {
        const once = `${line.group} ${figure || index}`;
        if (labeled.has(once) || Math.hypot(to[0] - from[0], to[1] - from[1]) < 1) return;
        const texts = [`${cut(line.name, 48)}  ${figure}`, figure].filter(Boolean);
        if (texts.some((text) => along(index, text.trimEnd(), from, to, at))) labeled.add(once);
      };
      const bend = line.ridge ? inBox([X(line.ridge[0]), Y(line.ridge[1])]) : null;
      const between = (from, to) => path.filter(([x]) => x >= from && x <= to);
      if (line.slope && (bend || !line.flat)) {
        const part = between(box.left, bend ? bend[0] : box.right);
        if (part.length > 1) write(line.slope, part[0], part.at(-1), 0.4);
      }
      if (line.flat && (!bend || bend[0] < box.right)) {
        const part = between(bend ? bend[0] : box.left, box.right);
        if (part.length > 1) write(line.flat, part[0], part.at(-1), 1);
      }
      // A curved roof has no figures: its name is placed along its last segment, or its first.
      if (!line.slope && !line.flat) {
        write("", path.at(-2), path.at(-1), 1);
        write("", path[0], path[1], 0.4);
      }
    }
    const layer = svg("g");
    for (const mark of marks) {
      const { point } = mark;
      const faded = state.chosen !== null && state.chosen !== point.index ? " faded" : "";
      const element = shape(point.bound, mark.x, mark.y, mark.radius, { class: `mark ${color.get(point.kind)}${faded}`, "data-point": point.index });
      if (state.chosen === point.index) element.classList.add("chosen");
      if (alone) element.append(svg("title", {}, `${cut(point.name, 200)}\n${figure(point.x)} FLOP/byte, ${figure(point.y)} GFLOP/s`));
      layer.append(element);
      mark.element = element;
    }
    add(layer);
    if (!few) writeNames();
    add(labels);
    if (alone) {
      let left = box.left + 6;
      for (const kind of kinds.filter((kind) => kind && marks.some((mark) => mark.point.kind === kind))) {
        const label = cut(kind, 28);
        if (left + widthOf(label) + 12 > box.right) break;
        add(shape("memory", left, height - 24, 5, { class: `mark ${color.get(kind)}` }));
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
    $("chart").classList.toggle("zoomed", state.view !== null);
    $("zoom-all").disabled = state.view === null;
    hover(null);
  };

  // Zoom and pan change the ends of the axes. Positions are fractions of the axes.
  const look = (change) => {
    const floor = state.scale === "linear" ? 0 : -300;
    state.view = (state.view ?? whole()).map(([from, to], axis) => {
      let [low, high] = change(from, to, axis);
      if (low < floor) [low, high] = [floor, high + floor - low];
      return high - low > (to - from) * 1e-9 && high - low < 600 * Math.max(1, to - from) ? [low, high] : [from, to];
    });
    redraw();
  };
  const zoom = (times, ...at) =>
    look((from, to, axis) => {
      const fixed = from + (to - from) * (at[axis] ?? 0.5);
      const widest = state.scale === "linear" ? Infinity : 60;
      const [low, high] = [fixed - (fixed - from) / times, fixed + (to - fixed) / times];
      return high - low < 0.02 * (state.scale === "linear" ? to : 1) || high - low > widest ? [from, to] : [low, high];
    });
  const pan = (...by) => look((from, to, axis) => [from - (to - from) * by[axis], to - (to - from) * by[axis]]);
  const showAll = () => {
    state.view = null;
    redraw();
  };

  // Properties of a point as pairs of label and text.
  const facts = (point) => [
    ...(point.kind ? [["kind", point.kind]] : []),
    ["FLOP/byte", figure(point.x)],
    ["GFLOP/s", figure(point.y)],
    ...(over(point) ? [[`of ${cut(over(point).name, 40)}`, ofRoof(reached(point))]] : []),
    ...(point.share === null ? [] : [["time", percent(point.share)]]),
    ["bound", point.bound],
    ...point.details,
  ];
  const listFacts = (target, pairs) =>
    target.replaceChildren(
      ...pairs.flatMap(([key, value]) => {
        const shown = cut(value, 400);
        return [html("dt", {}, cut(key, 200)), html("dd", shown.length < 22 ? { class: "plain" } : {}, name(shown))];
      })
    );
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
    const [x, y] = [mark.x * scale + $("chart").clientLeft + 8, mark.y * scale + $("chart").getBoundingClientRect().top - stage.getBoundingClientRect().top];
    tip.style.left = `${x + 16 + tip.offsetWidth > stage.clientWidth ? Math.max(x - 16 - tip.offsetWidth, 0) : x + 16}px`;
    tip.style.top = `${Math.max(Math.min(y - 20, stage.clientHeight - tip.offsetHeight - 4), 4)}px`;
  };
  const spot = (event) => {
    const frame = $("chart").getBoundingClientRect();
    const scale = $("chart").viewBox.baseVal.width / frame.width;
    return [(event.clientX - frame.left) * scale, (event.clientY - frame.top) * scale];
  };
  const nearest = (event) => {
    const [x, y] = spot(event);
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

  // The table of visible operations; rows are created on scrolling.
  const figures = [
    { key: "name", label: "Operation", value: (point) => point.name, show: (point) => cut(point.name, 300) },
    { key: "kind", label: "Kind", value: (point) => point.kind, show: (point) => cut(point.kind, 100) },
    { key: "x", label: "FLOP/byte", value: (point) => point.x, show: (point) => figure(point.x) },
    { key: "y", label: "GFLOP/s", value: (point) => point.y, show: (point) => figure(point.y) },
    { key: "reached", label: "Of roof", value: reached, show: (point) => ofRoof(reached(point)) },
    { key: "share", label: "Time", value: (point) => point.share, show: (point) => percent(point.share) },
    { key: "bound", label: "Bound", value: (point) => point.bound, show: (point) => point.bound },
  ];
  // Details that at least half of the operations have, such as tokens per second, get a column.
  const detailOf = (key) => (point) => point.details.find((detail) => detail[0] === key);
  const keys = new Map();
  for (const point of points) for (const [key, value] of point.details) if (value.length <= 24) keys.set(key, (keys.get(key) ?? 0) + 1);
  const common = [...keys].filter(([key, count]) => count * 2 >= points.length && key !== "kind").slice(0, 4);
  for (const [key] of common) {
    const texts = points.map(detailOf(key)).filter((detail) => detail && detail[1] !== "-");
    const numbers = texts.length > 0 && texts.every((detail) => detail[1].trim() !== "" && Number.isFinite(Number(detail[1])));
    const value = (point) => {
      const found = detailOf(key)(point);
      if (!found || found[1] === "-") return null;
      return numbers ? (found[2] ?? Number(found[1])) : found[1];
    };
    figures.push({ key: `detail ${key}`, label: cut(key, 40), csv: key, value, show: (point) => cut(detailOf(key)(point)?.[1] ?? "-", 60), figure: numbers || texts.every((detail) => /^[\d.e]+\.\.[\d.e]+$/.test(detail[1])) });
  }
  const timed = points.some((point) => point.share !== null) || whatIf?.recipes.some((recipe) => recipe.time);
  const columns = figures.filter((column) => timed || column.key !== "share");
  const isFigure = (column) => column.figure ?? ["x", "y", "reached", "share"].includes(column.key);
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
    $("count").textContent = `${count(listed.length)} of ${count(points.length)}${nowhere ? `, ${count(nowhere)} not on the chart` : ""}`;
  };
  const refresh = () => {
    for (const recount of recounts) recount();
    list();
    drawBars();
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
  choices($("kinds"), "kind", kinds, state.kinds, (kind) => shape("memory", 7, 7, 5, { class: `mark ${color.get(kind)}` }), (kind) => cut(kind, 60) || "none");
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
      state.view = null;
      $("scale-log").setAttribute("aria-pressed", scale === "log");
      $("scale-linear").setAttribute("aria-pressed", scale === "linear");
      redraw();
    });
  $("search").addEventListener("input", () => {
    state.query = $("search").value.trim().toLowerCase();
    refresh();
  });
  $("show-all").addEventListener("click", () => choose(null));

  // Pointer and keyboard input on the chart and in the table. One pointer pans, two pinch; touch scrolls the page until the chart
  // is zoomed.
  const pointers = new Map();
  let dragged = false;
  const fraction = (event) => {
    const frame = $("chart").getBoundingClientRect();
    const [x, y] = spot(event);
    const { width, height } = $("chart").viewBox.baseVal;
    return frame.width ? [(x - 70) / (width - 88), 1 - (y - 18) / (height - 70)] : [0.5, 0.5];
  };
  $("chart").addEventListener("pointerdown", (event) => {
    if (event.button > 0) return;
    if (!pointers.size) dragged = false;
    pointers.set(event.pointerId, fraction(event));
  });
  const release = (event) => {
    pointers.delete(event.pointerId);
    if (!pointers.size) $("chart").classList.remove("moving");
  };
  for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, release);
  window.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const now = fraction(event);
    const moved = [now[0] - before[0], now[1] - before[1]];
    if (pointers.size > 1) {
      const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
      const apart = (place) => Math.hypot(place[0] - other[0], place[1] - other[1]);
      dragged = true;
      pointers.set(event.pointerId, now);
      if (apart(before) > 0.01) zoom(apart(now) / apart(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      return;
    }
    if (event.pointerType === "touch" && state.view === null) return;
    if (!dragged && Math.hypot(...moved) < 0.008) return;
    dragged = true;
    pointers.set(event.pointerId, now);
    $("chart").classList.add("moving");
    pan(...moved);
  });
  $("chart").addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(Math.exp(-Math.max(Math.min(event.deltaY, 200), -200) / 300), ...fraction(event));
    },
    { passive: false }
  );
  $("chart").addEventListener("dblclick", showAll);
  $("zoom-in").addEventListener("click", () => zoom(1.5));
  $("zoom-out").addEventListener("click", () => zoom(1 / 1.5));
  $("zoom-all").addEventListener("click", showAll);
  $("chart").addEventListener("pointermove", (event) => {
    if (pointers.size) return;
    const mark = nearest(event);
    if ((mark ? mark.point.index : null) !== state.over) hover(mark);
  });
  $("chart").addEventListener("pointerleave", () => hover(null));
  $("chart").addEventListener("click", (event) => {
    if (dragged) return;
    const mark = nearest(event);
    const next = mark && mark.point.index !== state.chosen ? mark.point.index : null;
    // Redrawing here would break a double click.
    if (next !== state.chosen) choose(next);
  });
  $("chart").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const times = { "+": 1.5, "=": 1.5, "-": 1 / 1.5 }[event.key];
    const towards = { ArrowRight: [-0.1, 0], ArrowLeft: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (times) zoom(times);
    else if (event.key === "0") showAll();
    else if (towards && event.shiftKey) {
      event.preventDefault();
      pan(...towards);
    } else if (step && marks.length) {
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

  // What-if sliders: the equations are part of the data and are called in the order that the data specifies.
  const sliders = {};
  const own = subjects.map(() => ({}));
  let equations = {};
  const called = () => [...whatIf.recipes.flatMap((recipe) => recipe.steps), ...(whatIf.roofs ?? []).flatMap((recipe) => recipe.steps), ...(whatIf.summary?.steps ?? [])];
  const guards = () => Object.keys(equations).filter((name) => name.endsWith(".$within"));
  const within = (name, value) => guards().every((guard) => equations[guard](name, value));
  // Returns null if a value is outside its domain or a requirement of the contract is not met. Calls with missing arguments are
  // skipped.
  const run = (steps, known) => {
    for (const step of steps) {
      const module = step.function.split(".")[0];
      if (equations[`${module}.$unmet`](known).length > 0) return null;
      if (step.arguments.some((argument) => known[argument] === undefined)) continue;
      if (!step.arguments.every((argument) => equations[`${module}.$within`](argument, known[argument]))) return null;
      known[step.result] = equations[step.function](...step.arguments.map((argument) => known[argument]));
    }
    return known;
  };
  const moves = (map) => {
    if (!map) return sliders;
    return Object.fromEntries(Object.entries(map).flatMap(([input, slider]) => (slider in sliders ? [[input, sliders[slider]]] : [])));
  };
  // Changed inputs of the subject that a roof belongs to.
  const ownOf = (roof) => own[subjects.findIndex((subject) => roofOf(subject) === roof)] ?? {};
  const givenTo = (operation) => ({ ...whatIf.inputs, ...operation.inputs });
  const controls = [];
  const changed = () => controls.filter((control) => control.isMoved()).map((control) => control.words()).concat(own.flatMap((values, index) => Object.entries(values).map(([quantity, value]) => `${subjects[index].name}: ${quantity.replaceAll("_", " ")} ${figure(value)}`)));
  const redrawRoofs = (moved) => {
    lines.forEach((line, index) => {
      Object.assign(line, drawn[index]);
      const recipe = whatIf.roofs?.[index] ?? whatIf.roofs?.[0];
      if (!moved || !recipe || line.vertices.length < 2) return;
      const figures = recipe.moves ? { bandwidth: line.bandwidth_gb_s ?? undefined, compute: line.compute_gflop_s ?? undefined } : {};
      const given = { ...(recipe.moves ? {} : whatIf.inputs), ...recipe.inputs, ...figures, ...moves(recipe.moves), ...ownOf(index) };
      const at = (value) => run(recipe.steps, { ...given, [recipe.moved]: value });
      const [x, y] = recipe.per ?? [1, 1];
      const place = (value) => {
        const known = at(value);
        return known && [(recipe.intensity ? known[recipe.intensity] : value) / x, known[recipe.height] / y];
      };
      const ends = [line.vertices[0][0], line.vertices.at(-1)[0]];
      const ridge = recipe.ridge ? at(ends[1])?.[recipe.ridge] : undefined;
      const values = recipe.samples?.length ? recipe.samples : [ends[0], ridge, ends[1]];
      const vertices = values.filter(drawable).map(place).filter((vertex) => vertex?.every(drawable)).sort((a, b) => a[0] - b[0]);
      if (vertices.length < 2) return;
      line.vertices = vertices;
      line.ridge = drawable(ridge) ? place(ridge) : null;
      if (line.slope) line.slope = `${figure(given.bandwidth)} GB/s`;
      if (line.flat) line.flat = `${figure(given.compute)} GFLOP/s`;
      line.figures = [line.slope, line.flat, line.ridge && `ridge ${figure(line.ridge[0])} FLOP/byte`].filter(Boolean);
    });
  };
  const drawMemory = (memory, known) => {
    $("memory").hidden = !memory;
    if (!memory) return;
    const value = (shown) => known[shown.result] / (shown.per ?? 1);
    const [whole, capacity] = [value(memory.whole), value(memory.capacity)];
    const full = Math.max(whole, drawable(capacity) ? capacity : 0);
    const parts = memory.parts.map((part, index) => ({ ...part, value: value(part), color: `var(--part-${index})` })).filter((part) => part.value > 0);
    const piece = (part) => {
      const element = html("span", { title: `${part.label} ${figure(part.value)} ${part.unit}` });
      element.style.cssText = `width:${(part.value / full) * 100}%;background:${part.color}`;
      return element;
    };
    const limit = html("span", { class: "limit" });
    limit.style.left = `calc(${(capacity / full) * 100}% - 2px)`;
    $("memory-bar").replaceChildren(...parts.map(piece), ...(drawable(capacity) ? [limit] : []));
    $("memory-parts").replaceChildren(
      ...parts.map((part) => {
        const line = html("li", {}, `${part.label} ${figure(part.value)} ${part.unit}`);
        line.style.setProperty("--part", part.color);
        return line;
      })
    );
    const unit = memory.whole.unit;
    const large = known[memory.too_large[0]] === memory.too_large[1];
    const words = !Number.isFinite(whole)
      ? "outside the domain of the contract"
      : !drawable(capacity)
        ? `${figure(whole)} ${unit}; memory capacity unknown`
        : `${figure(whole)} of ${figure(capacity)} ${unit}${large ? ": does not fit" : ""}`;
    $("memory-text").textContent = words;
    $("memory-text").classList.toggle("alarm", large);
    $("memory-bar").setAttribute("aria-label", `${words}: ${parts.map((part) => `${part.label} ${figure(part.value)} ${part.unit}`).join(", ")}`);
  };
  const summarize = (sums) => {
    const { summary } = whatIf;
    const subject = subjects[state.subject];
    const operation = subject && whatIf.operations[subject.operation];
    const given = operation ? { ...givenTo(operation), ...moves(summary.moves), ...own[state.subject] } : { ...whatIf.inputs, ...summary.inputs, ...sums, ...moves(summary.moves) };
    const known = run(summary.steps, given) ?? {};
    listFacts($("what-if-summary"), summary.shown.map((line) => [line.label, `${figure(known[line.result] / (line.per ?? 1))} ${line.unit}`.trimEnd()]));
    // The tooltip has all digits.
    summary.shown.forEach((line, index) => {
      const value = $("what-if-summary").querySelectorAll("dd")[index];
      value.dataset.result = line.result;
      value.title = String(known[line.result]);
    });
    drawMemory(summary.memory, known);
  };
  const subtitle = $("subtitle").textContent;
  const recompute = () => {
    points.forEach((point, index) => Object.assign(point, original[index]));
    if (whatIf) {
      const words = changed();
      const moved = words.length > 0;
      let total = 0;
      const times = [];
      const summed = (recipe) => Object.entries({ ...whatIf.summary?.sums, ...recipe.sums });
      const sums = Object.fromEntries(whatIf.recipes.flatMap(summed).map(([name]) => [name, 0]));
      for (const operation of whatIf.operations) {
        const recipe = whatIf.recipes[operation.recipe];
        const point = points[operation.point];
        const known = run(recipe.steps, { ...givenTo(operation), ...moves(recipe.moves), ...ownOf(point.roof) });
        if (!known) {
          if (moved) Object.assign(point, { x: null, y: null, share: null, bound: "undefined", details: [], results: {} });
          for (const name of Object.keys(sums)) sums[name] = NaN;
          continue;
        }
        if (moved) {
          point.x = known[recipe.intensity] / (recipe.per?.[0] ?? 1);
          point.y = known[recipe.performance] / (recipe.per?.[1] ?? 1);
          const bound = String(known[recipe.bound] ?? "").toLowerCase();
          if (recipe.bound) point.bound = ["memory", "compute", "overhead"].includes(bound) ? bound : "undefined";
          const recomputed = new Map((recipe.details ?? []).map((shown) => [shown.label, known[shown.result] / (shown.per ?? 1)]));
          // The expected range is valid only for the original inputs; changes to other devices do not affect it.
          const unchanged = !controls.some((control) => control.isMoved()) && !Object.keys(ownOf(point.roof)).length;
          point.details = point.details
            .filter(([key]) => unchanged || !(recipe.stale ?? []).includes(key))
            .map((detail) => (recomputed.has(detail[0]) ? [detail[0], figure(recomputed.get(detail[0])), recomputed.get(detail[0])] : detail));
          point.results = known;
          point.unchanged = unchanged;
          if (recipe.time) times.push([point, known[recipe.time]]);
          if (recipe.time) total += known[recipe.time];
        }
        for (const [name, result] of summed(recipe)) sums[name] += known[result];
      }
      for (const [point, time] of times) point.share = total > 0 ? time / total : null;
      redrawRoofs(moved);
      $("subtitle").textContent = moved ? `What if: ${words.join("; ")}` : subtitle;
      for (const section of document.querySelectorAll(".as-asked")) section.classList.toggle("stale", moved);
      for (const note of document.querySelectorAll(".asked")) note.hidden = !moved;
      if (whatIf.summary) summarize(sums);
    }
    order();
    refresh();
    if (state.chosen !== null) choose(state.chosen);
  };
  // Slider stops from 1/16 to 16 times a value, rounded to three digits.
  const spread = (quantity, start) => {
    const stops = [start];
    for (let quarter = -16; quarter <= 16; quarter++) {
      const value = Number((start * 2 ** (quarter / 4)).toPrecision(3));
      stops.push(within(quantity, value) ? value : Math.round(value));
    }
    return [...new Set(stops)].filter((value) => value === start || within(quantity, value)).sort((a, b) => a - b);
  };
  // A slider for all operations, or only for the selected subject if it has no stops.
  const control = (slider) => {
    const alone = !(slider.stops ?? []).length;
    const input = html("input", { type: "range", min: 0, step: 1, id: `what-if-${slider.quantity}` });
    const output = html("output", { for: input.id });
    const title = html("span");
    const label = html("label", { class: "stack" }, html("span", {}, title, output), input);
    let stops = [];
    let start = 0;
    const value = () => stops[Number(input.value)];
    const show = () => {
      const shown = value();
      const target = alone ? own[state.subject] : sliders;
      const still = Number(input.value) === start;
      if (shown === undefined || (alone && still)) delete target[slider.quantity];
      else target[slider.quantity] = shown;
      const text = shown === undefined ? "unchanged" : `${Number.isInteger(shown) && shown < 1e6 ? count(shown) : figure(shown)} ${slider.unit ?? ""}`.trimEnd();
      output.textContent = text;
      input.setAttribute("aria-valuetext", text);
      label.classList.toggle("moved", !still);
    };
    const build = () => {
      title.textContent = alone && subjects.length > 1 ? `${slider.label}, ${subjects[state.subject].name}` : slider.label;
      if (alone) {
        const given = givenTo(whatIf.operations[subjects[state.subject].operation])[slider.quantity];
        label.hidden = !drawable(given);
        stops = drawable(given) ? spread(slider.quantity, given) : [];
        start = stops.indexOf(given);
        const at = own[state.subject][slider.quantity] ?? given;
        input.max = Math.max(stops.length - 1, 0);
        input.value = Math.max(stops.indexOf(at), 0);
      } else {
        const asIs = slider.start === undefined || slider.start === null;
        stops = asIs ? [undefined, ...slider.stops] : slider.stops;
        start = asIs ? 0 : Math.max(stops.indexOf(slider.start), 0);
        input.max = stops.length - 1;
        input.value = start;
      }
      show();
    };
    input.addEventListener("input", () => {
      show();
      recompute();
    });
    build();
    const isMoved = () => !alone && Number(input.value) !== start;
    const words = () => `${slider.label} ${output.textContent}${stops[start] === undefined ? "" : ` instead of ${count(stops[start])}`}`;
    controls.push({ alone, build, isMoved, words });
    return label;
  };
  if (whatIf) {
    const names = [...new Set(called().map((step) => step.function))];
    if (!names.every((name) => /^[A-Za-z_]\w*\.[A-Za-z_]\w*$/.test(name))) throw new Error("invalid name of an equation");
    const modules = [...new Set(names.map((name) => name.split(".")[0]))];
    const all = [...names, ...modules.flatMap((module) => [`${module}.$within`, `${module}.$unmet`])];
    equations = new Function(`"use strict";\n${whatIf.module}\nreturn {${all.map((name) => `"${name}": ${name}`).join(", ")}};`)();
    for (const slider of whatIf.sliders) $(slider.folded ? "what-if-folded" : "what-if-sliders").append(control(slider));
    const folded = whatIf.sliders.filter((slider) => slider.folded).length;
    $("what-if-more").hidden = folded === 0;
    $("what-if-more").querySelector("summary").textContent = `${folded} more quantities`;
    $("subject").append(...subjects.map((subject, index) => html("option", { value: index }, cut(subject.name, 60))));
    $("what-if-subject").hidden = subjects.length < 2;
    $("subject").addEventListener("change", () => about(Number($("subject").value)));
    $("what-if-reset").addEventListener("click", () => {
      for (const values of own) for (const quantity of Object.keys(values)) delete values[quantity];
      for (const one of controls) one.build();
      recompute();
    });
    $("what-if").hidden = false;
  }
  const about = (subject) => {
    state.subject = subject;
    $("subject").value = subject;
    for (const one of controls) if (one.alone) one.build();
    recompute();
  };

  // Bars are a list, so that screen readers read the figures.
  const most = 24;
  const barsNow = () => {
    const { bars, result, fade_if } = barCharts[state.bars];
    const now = bars.map((bar) => {
      const known = result && bar.point !== null ? points[bar.point].results : {};
      const point = bar.point === null ? null : points[bar.point];
      if (!point || !(result in known)) return { ...bar, hidden: point ? !shown(point) : false };
      const faded = fade_if && known[fade_if[0]] === fade_if[1];
      const band = point.unchanged ? bar.band : null;
      return { ...bar, value: known[result], emphasized: !faded, note: faded ? "does not fit" : "", band, hidden: !shown(point) };
    });
    const moved = now.some((bar, index) => bar.value !== bars[index].value);
    return (moved && bars.length > 1 && whatIf ? now.sort((a, b) => b.value - a.value) : now).filter((bar) => !bar.hidden);
  };
  const drawBars = () => {
    $("bars").hidden = !barCharts.length;
    if (!barCharts.length) return;
    const { title, subtitle, unit, line } = barCharts[state.bars];
    $("bars-title").textContent = chart.title ? cut(title, 200) : unit;
    $("bars-subtitle").textContent = whatIf && changed().length && barCharts[state.bars].result ? "ceilings with the changed inputs; expected ranges are shown only for the original inputs" : cut(subtitle, 300);
    const all = barsNow();
    const longest = Math.max(...all.map((bar) => Math.max(bar.value, bar.band?.[1] ?? 0, bar.measured ?? 0)), line ?? 0, Number.MIN_VALUE);
    const part = (kind, from, to) => {
      const element = html("span", { class: kind });
      element.style.left = `${(from / longest) * 100}%`;
      element.style.width = `${Math.max(((to - from) / longest) * 100, 0)}%`;
      return element;
    };
    const visible = state.allBars ? all : all.slice(0, most);
    $("bars-list").replaceChildren(
      ...visible.map((bar) => {
        const track = html("span", { class: "track", "aria-hidden": "true" }, part(bar.emphasized ? "fill" : "fill back", 0, bar.value));
        if (bar.measured !== null && bar.measured !== undefined) track.append(part("measured", 0, bar.measured));
        if (bar.band) track.append(part("band", ...bar.band));
        if (line) track.append(part("goal", line, line));
        const expected = bar.band ? `expected ${figure(bar.band[0])}–${figure(bar.band[1])}` : "";
        const more = [expected, bar.note].filter(Boolean).join(", ");
        const value = html("span", { class: "value" }, `${figure(bar.value)} ${unit} `, html("small", {}, more));
        const title = { class: "whose", title: bar.name };
        const whose = bar.point === null ? html("span", title, name(cut(bar.name, 80))) : html("button", { type: "button", ...title }, name(cut(bar.name, 80)));
        if (bar.point !== null)
          whose.addEventListener("click", () => {
            const subject = subjects.findIndex((subject) => roofOf(subject) === points[bar.point].roof);
            if (subject >= 0) about(subject);
            choose(bar.point);
          });
        return html("li", {}, whose, track, value);
      })
    );
    $("bars-more").hidden = all.length <= most;
    $("bars-more").textContent = state.allBars ? `Show ${most}` : `Show all ${count(all.length)}`;
  };
  $("bars-more").addEventListener("click", () => {
    state.allBars = !state.allBars;
    drawBars();
  });
  let asBefore = false;
  window.addEventListener("beforeprint", () => {
    [asBefore, state.allBars] = [state.allBars, true];
    drawBars();
  });
  window.addEventListener("afterprint", () => {
    state.allBars = asBefore;
    drawBars();
  });
  if (barCharts.length > 1)
    barCharts.forEach((one, index) => {
      const button = html("button", { type: "button", "aria-pressed": String(index === 0) }, ["decode", "prefill"][index] ?? String(index + 1));
      button.addEventListener("click", () => {
        state.bars = index;
        [...$("bars-switch").children].forEach((other, place) => other.setAttribute("aria-pressed", String(place === index)));
        drawBars();
      });
      $("bars-switch").append(button);
    });
  $("bars").classList.toggle("as-asked", barCharts.every((one) => !one.result));
  // With many devices the bars come before the roofs, and the fastest device is selected.
  if (barCharts.some((one) => one.bars.length > 8) && lines.length > 8) {
    $("stage").before($("bars"));
    const fastest = barCharts[0].bars.find((bar) => bar.emphasized) ?? barCharts[0].bars[0];
    state.subject = Math.max(subjects.findIndex((subject) => roofOf(subject) === points[fastest.point]?.roof), 0);
    $("subject").value = state.subject;
    for (const one of controls) if (one.alone) one.build();
  }

  // Tables and notes, for the original inputs.
  const prose = (text) => cut(text, 2000);
  for (const { title, headings, rows } of tables.filter((table) => table.rows.length)) {
    const numeric = headings.map((heading, column) => rows.every((row) => /^[-<>~ ]*[\d.,e+-]*( ?%)?$/.test(row[column])));
    const cell = (kind) => (text, column) => html(kind, { ...(numeric[column] ? { class: "figure" } : text.length > 60 ? { class: "long" } : {}), ...(kind === "th" ? { scope: "col" } : {}) }, name(cut(kind === "th" ? text.replaceAll("_", " ") : text, 600)));
    const head = html("thead", {}, html("tr", {}, ...headings.map(cell("th"))));
    const body = html("tbody", {}, ...rows.slice(0, 2000).map((row) => html("tr", {}, ...row.map(cell("td")))));
    const heading = cut(title || "Results", 200);
    const section = html("section", { class: `as-asked${rows.length > 30 ? " long" : ""}${headings.length > 12 ? " broad" : ""}`, "aria-label": heading }, html("h2", {}, heading));
    const asked = html("p", { class: "asked" }, "For the original inputs, without the changed sliders.");
    asked.hidden = true;
    section.append(asked, html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": heading }, html("table", {}, head, body)));
    $("tables").append(section);
    $("tables").hidden = false;
  }
  $("notes").hidden = !notes.length;
  // Without sliders and filters, the notes are placed next to the chart.
  if (!whatIf && !points.length) document.querySelector("aside").append($("notes"));
  $("notes").querySelector("ul").append(...notes.map((note) => html("li", {}, name(prose(note)))));

  // Export: the current picture with its style, and the table with its current order and filters.
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
    const heading = ["name", "kind", "flop_per_byte", "gflop_s", "of_roof", "share", "bound", ...figures.slice(7).map((column) => quote(column.csv))].join(",");
    save([heading, ...lines].map((line) => `${line}\r\n`).join(""), "text/csv", "csv");
  });

  $("list").hidden = !points.length;
  $("more").hidden = !$("more").childElementCount;
  $("stage").hidden = !points.length && !lines.length && barCharts.length > 0;
  for (const id of ["view", "export-svg", "export-png"]) $(id).hidden = $("stage").hidden;
  $("roof").value = state.roof;
  $("export-csv").hidden = !points.length;
  recompute();
  // Controls are placed next to the pictures; tables below use the full width.
  const pictures = ["stage", "more", "bars"].filter((id) => !$(id).hidden).length;
  document.querySelector("main").style.setProperty("--pictures", Math.max(pictures, 1));
  // Redraw in the next frame, because drawing changes the observed height.
  new ResizeObserver(() => requestAnimationFrame(redraw)).observe($("stage"));
})();
