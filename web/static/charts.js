// Charts, drawn by Observable Plot. For screen readers a chart is one picture with a
// description; its numbers are in a table.

const ink = { pld: "var(--accent)", rdp: "var(--rdp)", closed: "var(--closed)", gdp: "var(--gdp)" };

// el makes an element: el("p", {class: "x"}, "text", child).
function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value != null) node.setAttribute(key, value);
  }
  node.append(...children.flat().filter((c) => c != null && c !== false));
  return node;
}

// picture puts a chart into a figure with its description. It removes Plot's style sheet, which
// page.css replaces, and the labels of parts, because a picture needs only one label.
function picture(svg, description) {
  for (const style of svg.querySelectorAll("style")) style.remove();
  for (const part of svg.querySelectorAll("[aria-label], [aria-hidden]")) {
    part.removeAttribute("aria-label");
    part.removeAttribute("aria-hidden");
  }
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", description);
  return el("div", { class: "chart" }, svg);
}

// widthOf returns the largest width of a chart in an element.
function widthOf(element, least = 280) {
  return Math.max(least, Math.floor(element.clientWidth || 640));
}

const tick = (v) =>
  v >= 1e6 || (v !== 0 && v < 1e-3)
    ? v.toExponential(0).replace("+", "")
    : v >= 1e3
      ? v.toLocaleString("en")
      : String(+v.toPrecision(6));

// costChart draws the ε of all accountants on one logarithmic axis.
function costChart(element, rows, budget) {
  const values = rows.flatMap((r) => [r.value, r.lower > 0 ? r.lower : r.value]).concat(budget || []);
  const low = Math.min(...values) / 1.25,
    high = Math.max(...values) * 1.25;
  const narrow = widthOf(element) < 420;
  const svg = Plot.plot({
    width: widthOf(element),
    height: 34 * rows.length + 44,
    marginLeft: narrow ? 128 : 140,
    marginRight: 18,
    marginTop: 8,
    x: { type: "log", domain: [low, high], grid: true, label: "ε →", tickFormat: tick, ticks: narrow ? 3 : 5 },
    y: { domain: rows.map((r) => r.title), label: null, padding: 0.4, tickSize: 0 },
    style: { fontSize: "12.5px", background: "none" },
    marks: [
      budget ? Plot.ruleX([budget], { strokeDasharray: "4 4", stroke: "currentColor" }) : null,
      Plot.dot(
        rows.filter((r) => r.kind === "upper"),
        { x: "value", y: "title", r: 6.5, fill: (r) => r.ink },
      ),
      Plot.dot(
        rows.filter((r) => r.kind === "interval" || r.kind === "exact"),
        { x: "value", y: "title", r: 7.5, symbol: "diamond", fill: (r) => r.ink },
      ),
      Plot.dot(
        rows.filter((r) => r.kind === "approximation"),
        { x: "value", y: "title", r: 5.5, stroke: (r) => r.ink, strokeWidth: 2.5 },
      ),
    ].filter(Boolean),
  });
  return picture(
    svg,
    "ε of the run on a logarithmic axis: " + rows.map((r) => `${r.title} ${r.text}`).join("; ") + ".",
  );
}

const frontierLines = [
  { key: "sigma_closed_form", title: "closed form, add or remove", ink: ink.closed, dash: null, symbol: "square" },
  { key: "sigma_add_or_remove", title: "certified, add or remove", ink: ink.pld, dash: null, symbol: "circle" },
  { key: "sigma_replace_one", title: "certified, replace one", ink: ink.rdp, dash: "6 4", symbol: "triangle" },
];

// frontierChart draws the least σ over the batch size, with the plan, the current point and the
// recommended batch size, if there is one. A click moves to the nearest batch size.
function frontierChart(element, rows, plan, at, walk, recommended) {
  const width = widthOf(element);
  const sigmas = rows.flatMap((r) => frontierLines.map((l) => r[l.key])).filter((v) => v != null);
  if (plan) sigmas.push(plan.sigma);
  const marks = [
    Plot.ruleX([rows[at].sample_size], { strokeDasharray: "2 3", stroke: "currentColor", strokeOpacity: 0.7 }),
  ];
  for (const l of frontierLines) {
    const there = rows.filter((r) => r[l.key] != null);
    marks.push(
      Plot.line(there, { x: "sample_size", y: l.key, stroke: l.ink, strokeWidth: 2.25, strokeDasharray: l.dash }),
    );
    const here = rows[at][l.key];
    if (here != null) {
      marks.push(
        Plot.dot([rows[at]], {
          x: "sample_size",
          y: l.key,
          r: 4.5,
          fill: "var(--card)",
          stroke: l.ink,
          strokeWidth: 2.25,
          symbol: l.symbol,
        }),
      );
    }
  }
  if (recommended) {
    marks.push(
      Plot.ruleX([recommended], { stroke: ink.pld, strokeOpacity: 0.6 }),
      Plot.text([recommended], {
        x: (v) => v,
        text: () => "recommended",
        frameAnchor: "top",
        dy: -10,
        fontSize: 12.5,
        fill: "currentColor",
      }),
    );
  }
  if (plan) {
    marks.push(
      Plot.dot([plan], {
        x: "s",
        y: "sigma",
        symbol: "star",
        r: 8,
        fill: "currentColor",
        stroke: "var(--card)",
        strokeWidth: 1,
      }),
    );
    const right =
      Math.log(plan.s / rows[0].sample_size) > 0.7 * Math.log(rows.at(-1).sample_size / rows[0].sample_size);
    marks.push(
      Plot.text([plan], {
        x: "s",
        y: "sigma",
        text: () => "your plan",
        dx: right ? -12 : 12,
        dy: -10,
        textAnchor: right ? "end" : "start",
        fontWeight: 700,
        fontSize: 13,
        fill: "currentColor",
        stroke: "var(--card)",
        strokeWidth: 4,
      }),
    );
  }
  const svg = Plot.plot({
    width,
    height: Math.round(Math.min(340, Math.max(240, width * 0.42))),
    marginLeft: 52,
    marginRight: 22,
    marginTop: 26,
    marginBottom: 40,
    x: {
      type: "log",
      grid: true,
      label: "batch size s →",
      tickFormat: tick,
      ticks: width < 480 ? 4 : 8,
      domain: [rows[0].sample_size, rows.at(-1).sample_size],
    },
    y: {
      type: "log",
      grid: true,
      label: "↑ noise multiplier σ",
      tickFormat: tick,
      ticks: 6,
      domain: [Math.min(...sigmas) / 1.1, Math.max(...sigmas) * 1.1],
    },
    style: { fontSize: "12.5px", background: "none" },
    marks,
  });
  const x = svg.scale("x");
  svg.addEventListener("click", (e) => {
    const box = svg.getBoundingClientRect();
    const clicked = Math.log(x.invert(((e.clientX - box.left) * width) / box.width));
    const away = rows.map((r) => Math.abs(Math.log(r.sample_size) - clicked));
    walk(away.indexOf(Math.min(...away)));
  });
  return picture(
    svg,
    `Least noise multiplier over the batch size, from ${count(rows[0].sample_size)} to ` +
      `${count(rows.at(-1).sample_size)}, both logarithmic, by the closed form and certified under two ` +
      "adjacencies. The numbers are below.",
  );
}

const curveStyles = [
  {
    match: (c) => c.accountant === "pld" && c.side === "lower" && c.name === "pld lower",
    title: "certified guarantee",
    ink: ink.pld,
    dash: null,
  },
  { match: (c) => c.name === "pld upper", title: "certified from the other side", ink: ink.pld, dash: "2 4" },
  { match: (c) => c.name.startsWith("f("), title: "what (ε, δ) alone says", ink: ink.closed, dash: "7 4" },
  { match: (c) => c.name.startsWith("gdp"), title: "central limit, no guarantee", ink: ink.gdp, dash: "1 5" },
];

// tradeoffChart draws recognised members against wrongly suspected others.
function tradeoffChart(element, lines, at) {
  const width = widthOf(element),
    marks = [];
  const gain = (p) => Math.max(0, 1 - p.beta - p.alpha);
  let most = 1e-6;
  for (const style of curveStyles) {
    const curve = lines.find(style.match);
    if (curve) most = Math.max(most, ...curve.points.map((p) => 1.06 * gain(p)));
    if (curve)
      marks.push(
        Plot.line(curve.points, {
          x: "alpha",
          y: gain,
          stroke: style.ink,
          strokeWidth: 2.25,
          strokeDasharray: style.dash,
        }),
      );
  }
  if (at)
    marks.push(Plot.dot([at], { x: "alpha", y: gain, r: 6, fill: "var(--card)", stroke: ink.pld, strokeWidth: 2.5 }));
  const svg = Plot.plot({
    width,
    height: Math.round(Math.min(330, Math.max(240, width * 0.5))),
    marginLeft: 48,
    marginRight: 16,
    marginTop: 26,
    marginBottom: 40,
    x: { domain: [0, 1], grid: true, label: "share of others wrongly suspected →", percent: false, ticks: 5 },
    y: { domain: [0, most], grid: true, label: "↑ share of members recognised, beyond guessing", ticks: 5 },
    style: { fontSize: "12.5px", background: "none" },
    marks,
  });
  return picture(
    svg,
    "Share of members that can be recognised, beyond what guessing gives, over the share of others that are wrongly " +
      "suspected: the lower, the better. One point is read out below.",
  );
}

// legend lists lines with their strokes.
function legend(entries) {
  return el(
    "ul",
    { class: "legend" },
    entries.map((l) => {
      const item = el("li");
      const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      svg.setAttribute("viewBox", "0 0 28 10");
      svg.setAttribute("aria-hidden", "true");
      const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
      for (const [k, v] of Object.entries({ x1: 0, x2: 28, y1: 5, y2: 5, "stroke-width": 3 }))
        line.setAttribute(k, v);
      line.style.stroke = l.ink;
      if (l.dash) line.setAttribute("stroke-dasharray", l.dash);
      svg.append(line);
      item.append(svg, l.title);
      return item;
    }),
  );
}
