"use strict";
// Draws the curves and recomputes them when a slider changes. The equations are generated from the contracts; this script passes
// the results of each contract to the next, in the order that the Rust code uses.
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const { chart, moving, captions } = data;
const modules = moving && new Function(`${moving.module}; return { transformer_v1, collective_v1, parallel_v1, serving_v1 };`)();

/** Evaluates the equations of a contract and returns inputs and results. */
function evaluate(contract, inputs) {
  const values = { ...inputs };
  for (const step of moving.steps[contract]) {
    const [module, name] = step.function.split(".");
    values[step.result] = modules[module][name](...step.arguments.map((argument) => values[argument]));
  }
  return values;
}

/** Mean rate in GFLOP/s, limited to the domain of the contracts. */
function meanRate(gflop, seconds, otherwise) {
  const rate = gflop / seconds;
  return Number.isFinite(rate) && rate > 0 ? Math.min(rate, 1e12) : otherwise;
}

/** Amounts that a step of one copy moves and computes, for the ceiling and the ideal. */
function amounts(set, work, phase) {
  const inputs = { ...set.least, ...work };
  const least = evaluate("transformer", inputs);
  const likely = evaluate("transformer", { ...set.likely, ...work });
  const without = evaluate("transformer", { ...inputs, expert_params: 0 });
  const storedExperts = least.weight_bytes - without.weight_bytes;
  const decode = phase === "decode";
  const cache = (decode ? least.decode_bytes : least.prefill_bytes) - least.pass_weight_bytes;
  const flops = decode ? least.decode_flops : least.prefill_flops;
  const time = (of) => (decode ? of.decode_compute_time : of.prefill_compute_time);
  const ceiling = {
    tokens: decode ? least.step_tokens : least.prompt_tokens,
    stored_dense_bytes: without.weight_bytes,
    stored_expert_bytes: storedExperts,
    dense_bytes: Math.max(without.pass_weight_bytes - inputs.resident, 1),
    expert_bytes: least.pass_weight_bytes - without.pass_weight_bytes,
    cache_bytes: cache,
    flops,
    bandwidth: inputs.bandwidth,
    compute: meanRate(flops / 1e9, time(least), inputs.bandwidth),
  };
  const ideal = {
    ...ceiling,
    dense_bytes: Math.max(without.pass_weight_bytes, 1),
    expert_bytes: storedExperts * (decode ? least.decode_uniform_share : least.prefill_most_share),
    cache_bytes: cache + (decode ? least.activation_bytes : least.prefill_activation_bytes),
    bandwidth: inputs.bandwidth * inputs.bandwidth_efficiency,
    compute: meanRate(flops / 1e9, time(likely), inputs.bandwidth) * inputs.compute_efficiency,
  };
  return { ceiling, ideal, least };
}

/** Communication times between the devices of a layout, in seconds. */
function messages(set, layout, amount, parts, least) {
  if (set.link === null || moving.hidden <= 0) return { reduce_time: 0, exchange_time: 0, hand_time: 0 };
  const devices = Math.max(layout.tensor, layout.experts);
  const size = set.least.activation_size;
  const token = moving.hidden * (least ? Math.min(size, 1) : size);
  const of = (ranks, bytes) => evaluate("collective", { ranks, size: bytes, link: set.link, hop: 0, start: least ? 0 : moving.start });
  const part = amount.tokens / parts;
  const reduced = of(layout.tensor, part * layout.tensor / devices * token);
  const handed = of(2, part * token / devices);
  const exchanged = of(layout.experts, part / devices * Math.min(set.least.experts_used, layout.experts) * token);
  const stages = layout.pipeline > 1;
  return least
    ? { reduce_time: reduced.all_reduce_least_time, exchange_time: 0, hand_time: stages ? handed.wire_time : 0 }
    : { reduce_time: reduced.all_reduce_time, exchange_time: exchanged.all_to_all_time, hand_time: stages ? handed.send_time : 0 };
}

/** One phase on identical devices: the times of ceiling and ideal in seconds, and the memory per device in GB. */
function timed(set, layout, work, phase) {
  const copy = { ...work, batch: work.batch / layout.copies };
  const { ceiling, ideal } = amounts(set, copy, phase);
  const decode = phase === "decode";
  const flight = Math.min(layout.pipeline, decode ? copy.batch : ceiling.tokens);
  const cuts = [];
  if (decode) cuts.push(flight);
  else for (let cut = 1; cut <= Math.min(ceiling.tokens, 1024); cut *= 2) cuts.push(cut);
  const stage = (amount, parts, least) => {
    const communication = messages(set, layout, amount, parts, least);
    return evaluate("parallel", {
      ...amount, ...communication,
      hand_time: communication.hand_time + (least ? 0 : set.dispatch),
      tensor: layout.tensor, expert_ways: layout.experts, pipeline: layout.pipeline, data: layout.copies,
      parts, interleave: 1, layer_share: Math.max(1 / layout.pipeline, 1e-6), layers: moving.layers,
    });
  };
  const least = stage(ceiling, flight, true);
  const likely = Math.min(...cuts.map((parts) => {
    const outputs = stage(ideal, parts, false);
    return decode ? outputs.step_time : outputs.flushed_time;
  }));
  const activations = (ideal.cache_bytes - ceiling.cache_bytes) / layout.pipeline / least.stage_devices;
  return { least: least.step_least_time, likely, gigabytes: (least.device_memory + activations) / 1e9 };
}

/** Throughput and latency that users get from identical devices in a layout. */
function serve(set, layout, { users, input, output, reuse }) {
  const context = Math.floor(input + output / 2);
  const step = { batch: users, context, prompt: input };
  const decode = timed(set, layout, step, "decode");
  const read = (tokens) => timed(set, layout, { ...step, batch: layout.copies, prompt: tokens }, "prefill");
  // Even the shortest remaining prompt takes one pass over the weights.
  const fresh = 1 - reuse;
  const prompt = read(input);
  const rest = fresh < 1 ? read(Math.ceil(input * fresh)) : prompt;
  const whole = { ...set.least, batch: 1, context: input + output, prompt: input };
  const all = evaluate("transformer", whole);
  const without = evaluate("transformer", { ...whole, expert_params: 0 });
  const repeated = Math.max(layout.tensor, layout.experts) / layout.tensor;
  const memory = set.capacity === null ? null : Math.max(set.capacity * set.count / layout.copies, 1e-3);
  const of = (promptTime, stepTime) => evaluate("serving", {
    input, output, reuse, page: 16, prompt_share: 0.5,
    users: users / layout.copies,
    memory: memory ?? 1e9,
    weight_bytes: all.weight_bytes + (repeated - 1) * without.weight_bytes,
    token_bytes: Math.max((all.decode_bytes - all.pass_weight_bytes) / whole.context, 1e-3),
    token_flops: all.token_flops,
    peak: set.least.compute * set.count / layout.copies,
    prompt_time: promptTime,
    step_time: stepTime,
  });
  const least = of(Math.max(prompt.least, rest.least / fresh), decode.least);
  const likely = of(Math.max(prompt.likely, rest.likely / fresh), decode.likely);
  const room = memory === null || layout.copies * least.largest_batch >= users;
  return {
    users, layout: layout.name,
    ceiling: { token_ms: 1e3 * decode.least, rate: layout.copies * least.output_ceiling },
    ideal: { token_ms: 1e3 * likely.token_time, rate: layout.copies * likely.output_rate },
    first_ms: 1e3 * likely.first_token_time,
    fits: (set.capacity === null || decode.gigabytes <= set.capacity * (1 + 1e-9)) && room,
    enough: true,
  };
}

/** The best layout for a number of users, with the highest ceilings of all layouts; null if none fits. */
function best(set, requested) {
  const layouts = set.layouts.filter((layout) => requested.users % layout.copies === 0);
  const spots = layouts.map((layout) => serve(set, layout, requested)).filter((spot) => spot.fits);
  if (spots.length === 0) return null;
  const found = spots.reduce((one, other) => (other.ideal.rate > one.ideal.rate ? other : one));
  const token_ms = Math.min(...spots.map((spot) => spot.ceiling.token_ms));
  return { ...found, ceiling: { token_ms, rate: Math.max(...spots.map((spot) => spot.ceiling.rate)) } };
}

/** The curve of a device set for the values of the sliders. */
function curve(set, requested) {
  const numbers = new Set([requested.users]);
  for (let users = 1; users <= 65536; users *= 2) numbers.add(users);
  const spots = [];
  for (const users of [...numbers].sort((a, b) => a - b)) {
    const spot = best(set, { ...requested, users });
    if (spot === null) break;
    spots.push({ ...spot, requested: users === requested.users });
  }
  return spots;
}

const figure = (value) => {
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return "-";
  if (size === 0) return "0";
  if (!(size >= 0.0009995 && size < 999950)) return value.toExponential(2);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : size >= 0.09995 ? 3 : size >= 0.009995 ? 4 : 5);
};

const SVG = "http://www.w3.org/2000/svg";
function element(parent, name, attributes, text) {
  const made = parent.namespaceURI === SVG || name === "svg" ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return parent.appendChild(made);
}

/** A logarithmic axis that includes all values, and its ticks. */
function axis(values) {
  const logs = values.flatMap((value) => [value / 1.25, value * 1.25]).map(Math.log10);
  let [from, to] = logs.length ? [Math.min(...logs), Math.max(...logs)] : [0, 0];
  const missing = Math.max((1 - (to - from)) / 2, 0);
  [from, to] = [from - missing, to + missing];
  const marks = [];
  for (let decade = Math.floor(from); decade <= Math.ceil(to); decade += 1) {
    for (const times of to - from < 4 ? [1, 2, 5] : [1]) {
      const value = Number(`${times}e${decade}`);
      const at = Math.log10(value);
      if (at >= from && at <= to) marks.push({ value, major: times === 1 });
    }
  }
  return { at: (value) => (Math.log10(value) - from) / (to - from), marks };
}

/** Places the labels of the dots without overlaps; the requested numbers of users come first. */
function labels(dots, left, right, bottom) {
  const overlap = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
  const taken = dots.map(({ x, y }) => [x - 5, y - 5, x + 5, y + 5]);
  for (const dot of [...dots].sort((one, other) => Number(other.spot.requested) - Number(one.spot.requested))) {
    const text = dot.spot.requested ? `${dot.spot.users} users` : String(dot.spot.users);
    const width = text.length * (dot.spot.requested ? 7.5 : 6.5);
    for (const [above, before] of [[false, false], [true, true], [true, false], [false, true]]) {
      const [x, y] = [before ? dot.x - 8 : dot.x + 8, above ? dot.y - 7 : dot.y + 16];
      const from = before ? x - width : x;
      const area = [from, y - 10, from + width, y + 2];
      if (from < left || area[2] > right || area[3] > bottom || taken.some((one) => overlap(one, area))) continue;
      dot.label = { x, y, text, anchor: before ? "end" : "start" };
      taken.push(area);
      break;
    }
  }
}

const stage = document.getElementById("stage");
const list = document.getElementById("list");

/** Size of the picture: narrow pages get a taller shape, so that the text stays legible. */
const shape = () => {
  const wide = stage.clientWidth || 960;
  return { width: Math.max(wide, 320), height: Math.max(Math.min(wide * 0.62, 600), 360) };
};

function draw(lines) {
  const { width, height } = shape();
  const [left, right, top] = [66, width - 16, 16];
  const bottom = height - 58 - 22 * lines.length;
  stage.replaceChildren();
  const svg = element(stage, "svg", { class: "roofline", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": document.title });
  element(svg, "rect", { class: "paper", width: "100%", height: "100%" });
  const paces = lines.flatMap((line) => line.spots.flatMap((spot) => [spot.ceiling, spot.ideal]));
  const [across, up] = [axis(paces.map((pace) => pace.token_ms)), axis(paces.map((pace) => pace.rate))];
  const x = (value) => left + across.at(value) * (right - left);
  const y = (value) => bottom - up.at(value) * (bottom - top);
  for (const { value, major } of across.marks) {
    element(svg, "path", { class: `grid ${major ? "major" : "minor"}`, d: `M${x(value)} ${top}V${bottom}` });
    element(svg, "text", { class: "tick", x: x(value), y: bottom + 18, "text-anchor": "middle" }, String(value));
  }
  for (const { value, major } of up.marks) {
    element(svg, "path", { class: `grid ${major ? "major" : "minor"}`, d: `M${left} ${y(value)}H${right}` });
    element(svg, "text", { class: "tick", x: left - 8, y: y(value), dy: "0.35em", "text-anchor": "end" }, String(value));
  }
  element(svg, "path", { class: "axis", d: `M${left} ${top}V${bottom}H${right}` });
  element(svg, "text", { class: "caption", x: (left + right) / 2, y: bottom + 40, "text-anchor": "middle" }, captions[0]);
  element(svg, "text", { class: "caption", transform: `translate(16 ${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, captions[1]);
  const dots = lines.flatMap((line, index) => line.spots.map((spot) => ({ line: index, spot, x: x(spot.ideal.token_ms), y: y(spot.ideal.rate) })));
  labels(dots, left, right, bottom);
  lines.forEach((line, index) => {
    const color = index % 8;
    for (const kind of ["ceiling", "ideal"]) {
      const path = line.spots.map((spot) => `${x(spot[kind].token_ms)} ${y(spot[kind].rate)}`);
      if (path.length) element(svg, "path", { class: `curve ${kind} s${color}`, d: `M${path.join("L")}` });
    }
    const own = dots.filter((dot) => dot.line === index).sort((one, other) => Number(one.spot.requested) - Number(other.spot.requested));
    for (const { spot, x: cx, y: cy, label } of own) {
      const group = element(svg, "g");
      element(group, "title", {}, `${line.name}, ${spot.users} users, ${spot.layout}: ${figure(spot.ideal.rate)} token/s and ${figure(spot.ideal.token_ms)} ms per token (ideal); ceiling ${figure(spot.ceiling.rate)} token/s, ${figure(spot.ceiling.token_ms)} ms per token`);
      element(group, "circle", { class: `spot ${spot.enough ? "met" : "unmet"} k${color} s${color}${spot.requested ? " requested" : ""}`, cx, cy, r: spot.requested ? 6.5 : 4 });
      if (label) element(group, "text", { class: `users${spot.requested ? " requested" : ""}`, x: label.x, y: label.y, "text-anchor": label.anchor }, label.text);
    }
    const at = bottom + 60 + 22 * index;
    element(svg, "path", { class: `curve ideal s${color}`, d: `M${left} ${at}h24` });
    element(svg, "text", { class: "entry", x: left + 32, y: at, dy: "0.35em" }, line.spots.length ? line.name : `${line.name}: does not fit`);
  });
}

function table(lines) {
  list.replaceChildren();
  const made = element(list, "table");
  element(made, "caption", {}, "Throughput and latency by number of users");
  const head = element(element(made, "thead"), "tr");
  for (const name of ["devices", "users", "layout", "token/s, ceiling", "token/s, ideal", "ms per token, ceiling", "ms per token, ideal", "TTFT in ms, ideal"]) element(head, "th", { scope: "col" }, name);
  const body = element(made, "tbody");
  for (const line of lines) for (const spot of line.spots) {
    const row = element(body, "tr", spot.requested ? { class: "requested" } : {});
    for (const cell of [line.name, spot.users, spot.layout]) element(row, "td", {}, String(cell));
    // The tooltip has all digits.
    for (const value of [spot.ceiling.rate, spot.ideal.rate, spot.ceiling.token_ms, spot.ideal.token_ms, spot.first_ms]) element(row, "td", { title: value }, figure(value));
  }
}

let shown = chart.lines;
function show(lines) {
  shown = lines;
  draw(lines);
  table(lines);
}

if (moving) {
  const home = document.getElementById("sliders");
  const requested = Object.fromEntries(moving.sliders.map((slider) => [slider.quantity, slider.start]));
  const subtitle = document.getElementById("requested");
  const problem = document.getElementById("problem");
  const controls = [];
  const update = () => {
    problem.hidden = true;
    try {
      const lines = chart.lines.map((line, index) => {
        const set = moving.sets.find((one) => one.line === index);
        return set ? { ...line, spots: curve(set, requested) } : line;
      });
      subtitle.textContent = `${requested.users} users, prompts of ${requested.input} and answers of ${requested.output} tokens${requested.reuse > 0 ? `, ${100 * requested.reuse} % of each prompt cached` : ""}`;
      show(lines);
    } catch (error) {
      problem.textContent = String(error);
      problem.hidden = false;
    }
  };
  for (const slider of moving.sliders) {
    const label = element(home, "label");
    const line = element(label, "span", {}, slider.label);
    const output = element(line, "output");
    const range = element(label, "input", { type: "range", min: 0, max: slider.stops.length - 1, step: 1, id: `slider-${slider.quantity}` });
    const place = (value) => {
      range.value = slider.stops.indexOf(value);
      output.textContent = String(value);
    };
    place(slider.start);
    range.addEventListener("input", () => {
      requested[slider.quantity] = slider.stops[Number(range.value)];
      output.textContent = String(requested[slider.quantity]);
      update();
    });
    controls.push(() => {
      requested[slider.quantity] = slider.start;
      place(slider.start);
    });
  }
  document.getElementById("reset").addEventListener("click", () => {
    for (const control of controls) control();
    update();
  });
  document.getElementById("what-if").hidden = false;
  document.getElementById("fixed").hidden = moving.sets.length === chart.lines.length;
}

document.getElementById("export").addEventListener("click", () => {
  const svg = stage.querySelector("svg").cloneNode(true);
  svg.setAttribute("xmlns", SVG);
  element(svg, "style", {}, data.style);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([svg.outerHTML], { type: "image/svg+xml" }));
  link.download = "curve.svg";
  link.click();
  URL.revokeObjectURL(link.href);
});
let waiting = 0;
addEventListener("resize", () => {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(() => draw(shown));
});
show(chart.lines);
})();
