// The parts of the page that show answers.

const kinds = {
  exact: "exact",
  interval: "certified interval",
  upper: "upper bound",
  approximation: "approximation: no guarantee",
};

const accountantTitles = {
  pld: "certified (pld)",
  rdp: "Rényi (rdp)",
  "closed-form": "closed form",
  "closed-form-moments": "moments (theorem)",
  gdp: "CLT (gdp)",
};

const accountantInks = {
  pld: ink.pld,
  rdp: ink.rdp,
  "closed-form": ink.closed,
  "closed-form-moments": ink.closed,
  gdp: ink.gdp,
};

// show replaces the content of an element. The focus moves to the matching new element.
function show(id, ...children) {
  const place = document.getElementById(id),
    held = place.contains(document.activeElement) ? document.activeElement : null;
  place.replaceChildren(...children.flat(Infinity).filter(Boolean));
  if (held && held !== place) alike(place, held)?.focus({ preventScroll: true });
}

// alike returns the new element with the id or the text of a replaced one.
function alike(place, held) {
  if (held.id) return document.getElementById(held.id);
  const says = (e) => e.tagName + (e.getAttribute("aria-label") ?? e.textContent);
  return [...place.querySelectorAll("button, [tabindex]")].find((e) => says(e) === says(held));
}

// waiting shows that something is being computed, and for how long.
function waiting(what) {
  const time = el("span"),
    start = performance.now();
  const timer = setInterval(() => {
    if (time.isConnected) time.textContent = ` ${Math.round((performance.now() - start) / 1000)} s`;
    else clearInterval(timer);
  }, 1000);
  return el("p", { class: "quiet" }, el("span", { class: "spin", "aria-hidden": "true" }), el("span", {}, what), time);
}

// typed returns the number as typed in the question, or else rounded.
function typed(state, name, v, otherwise) {
  return fieldsOf(state).includes(name) && state[name].trim().length <= 12 && numberOf(state[name]) === v
    ? state[name].trim()
    : otherwise;
}

function tile(key, name, value, text, note, lead) {
  return el(
    "div",
    { class: lead ? "tile lead" : "tile", "data-key": key, "data-value": value },
    el("dt", {}, name),
    el("dd", {}, text, note ? el("small", { class: "quiet" }, note) : null),
  );
}

// certifiedOf returns the tight accountant's bound for a plan's run, or null.
function certifiedOf(plan) {
  const tight = plan.tight?.[plan.adjacency === "replace-one" ? "replace_one" : "add_or_remove"];
  return tight?.run?.epsilon_upper != null ? tight.run : null;
}

// relation returns the sign before an ε of this kind.
function relation(kind) {
  return kind === "approximation" ? "≈" : kind === "exact" ? "=" : "≤";
}

// sentence says what to run and what it costs.
function sentence(state, plan) {
  const b = (text) => el("b", {}, text);
  const sigma = typed(state, "sigma", plan.sigma, up(plan.sigma, 7));
  const delta = typed(state, "delta", plan.delta, up(plan.delta, 3));
  const clients =
    plan.clients > 1
      ? ` In the rounds of ${plan.shared ? `all ${count(plan.clients)} clients that hold it,` : "its client,"} `
      : " Together ";
  const rounds = plan.run.rounds === 1 ? "1 round" : `${count(plan.run.rounds)} rounds`;
  const records = plan.run.sample_size === 1 ? "1 record" : `${count(plan.run.sample_size)} records`;
  const epsilon = typed(state, "epsilon", plan.epsilon, up(plan.epsilon, 5));
  return [
    state.question === "run" ? "You run " : "Run ",
    b(rounds),
    ...(plan.run.batches
      ? [" in epochs of ", b(plan.run.batches === 1 ? "1 batch" : `${count(plan.run.batches)} batches`),
          ", of which each record picks one", plan.redraw === "once" ? " for all epochs" : "", ", with noise "]
      : [
          " that ",
          plan.run.rounds === 1 ? "samples " : "sample ",
          b(records),
          plan.run.rounds === 1 ? " on average, with noise " : " each on average, with noise ",
        ]),
    b(`σ = ${sigma}`),
    ".",
    clients,
    plan.clients > 1 ? "they cost a record " : plan.run.rounds === 1 ? "it costs a record " : "they cost a record ",
    b(`ε ${relation(plan.kind)} ${epsilon}`),
    ` at δ = ${delta}.`,
  ];
}

// tilesOf lists a plan's numbers.
function tilesOf(state, plan, isLate) {
  const certified = certifiedOf(plan);
  const byTight = plan.method === "pld";
  const list = [
    tile(
      "epsilon",
      "ε",
      plan.epsilon,
      typed(state, "epsilon", plan.epsilon, up(plan.epsilon, 5)),
      `${kinds[plan.kind]}, ${plan.method}`,
      true,
    ),
  ];
  if (!byTight) {
    list.push(
      certified
        ? tile(
            "certified",
            "ε, certified",
            certified.epsilon_upper,
            up(certified.epsilon_upper, 5),
            `at least ${down(certified.epsilon_lower, 4)}`,
            true,
          )
        : tile("certified", "ε, certified", "", isLate ? "none" : "…", isLate ? "no answer" : "computing", true),
    );
  }
  list.push(tile("sigma", "noise σ", plan.sigma, typed(state, "sigma", plan.sigma, up(plan.sigma, 7))));
  const closed = plan.s_max_real > 0;
  list.push(
    tile(
      "sample_size",
      "batch size s",
      plan.run.sample_size,
      count(plan.run.sample_size),
      closed ? `at most ${down(plan.s_max_real, 5)}` : null,
    ),
  );
  list.push(
    tile(
      "rounds",
      "rounds T",
      plan.run.rounds,
      count(plan.run.rounds),
      closed ? `at least ${up(plan.t_min_real, 6)}` : null,
    ),
  );
  if (plan.run.batches) list.push(tile("batches", "batches t", plan.run.batches, count(plan.run.batches), "of an epoch"));
  list.push(
    tile("sample_rate", plan.run.batches ? "rate q = 1/t" : "rate q = s/N", plan.run.sample_rate, down(plan.run.sample_rate, 5)),
  );
  if (plan.gamma > 0)
    list.push(tile("gamma", "γ", plan.gamma, up(plan.gamma, 5), `printed ${up(plan.gamma_printed, 5)}`));
  const left = plan.run.remainder;
  if (!plan.run.batches) list.push(
    tile(
      "grad_computations",
      "gradients sT",
      plan.run.grad_computations,
      count(plan.run.grad_computations),
      left ? `${count(Math.abs(left))} ${left > 0 ? "less" : "more"} than kN` : null,
    ),
  );
  if (plan.signal > 0) list.push(tile("signal", "signal s√T/σ", plan.signal, inShare(plan.signal), "of full batches at this ε"));
  return el("dl", { class: "tiles" }, list);
}

// oddsOf explains a guarantee by the odds of somebody who guesses.
function oddsOf(odds) {
  if (!odds) return null;
  const wrong = inHundred(odds.false_positive),
    right = inHundred(odds.true_positive);
  const guess = Math.round(odds.false_positive * 100),
    most = Math.ceil(odds.true_positive * 100 - 1e-9);
  return el(
    "div",
    { class: "odds", "data-key": "odds", "data-value": odds.true_positive },
    el(
      "p",
      {},
      "In other words: an attacker who knows all other records and wrongly suspects ",
      wrong,
      " in 100 people outside the data recognises ",
      el("b", {}, `at most ${right} in 100`),
      ` members. Guessing finds ${wrong}.`,
    ),
    el(
      "div",
      { class: "people", "aria-hidden": "true" },
      Array.from({ length: 100 }, (_, i) => el("i", { class: i < guess ? "guess" : i < most ? "more" : null })),
    ),
  );
}

// remedyTitle names a change on a button.
function remedyTitle(remedy) {
  const names = {
    epsilon: "ε",
    sigma: "σ",
    epochs: "k",
    rounds: "T",
    sample_size: "s",
    steps: "T",
    sample_rate: "q",
  };
  if (remedy.change === "method") return `Plan by ${methods[remedy.method] ?? remedy.method}`;
  const text =
    remedy.change === "rounds" || remedy.change === "sample_size"
      ? count(remedy.to)
      : remedy.change === "sigma" || remedy.change === "epsilon"
        ? up(remedy.to, 7)
        : down(remedy.to, 7);
  return `Take ${names[remedy.change] ?? remedy.change} = ${text}`;
}

// answerView is the card of the answer.
function answerView(state, plan, isLate, apply) {
  if (!plan.feasible) {
    const usable = (plan.remedies ?? []).filter(
      (r) =>
        r.change &&
        (r.change === "method"
          ? !questionOf(state).methods || questionOf(state).methods.includes(r.method)
          : fieldsOf(state).includes(r.change)),
    );
    return [
      el("p", { class: "sentence", "data-key": "verdict", "data-value": plan.verdict }, plan.verdict),
      el("p", { class: "quiet", "data-key": "reason", "data-value": plan.reason ?? "" }, plan.reason ?? ""),
      el(
        "div",
        { class: "actions" },
        usable.map((r) =>
          el("button", { type: "button", class: "primary", title: r.text, onclick: () => apply(r) }, remedyTitle(r)),
        ),
      ),
    ];
  }
  return [
    el("p", { class: "sentence", "data-key": "verdict", "data-value": plan.verdict }, sentence(state, plan)),
    tilesOf(state, plan, isLate),
    oddsOf(plan.odds),
  ];
}

// problemView shows why there is no answer.
function problemView(problem, apply, state) {
  const title = {
    "not-covered": "No accountant has a proof for this.",
    infeasible: "No setting meets this.",
    unavailable: "Something that the answer needs is missing.",
    fault: "This is a fault of this program.",
    ended: "There is no answer for now.",
  };
  return [
    el("p", { class: "sentence" }, title[problem.kind] ?? "The question is not complete."),
    el(
      "ul",
      { class: "problems" },
      problem.problems.map((p) => el("li", {}, p)),
    ),
    el(
      "div",
      { class: "actions" },
      (problem.remedies ?? [])
        .filter((r) => fieldsOf(state).includes(r.change))
        .map((r) => el("button", { type: "button", class: "primary", onclick: () => apply(r) }, remedyTitle(r))),
    ),
  ];
}

// bestOf returns the least guarantee; an approximation is none.
function bestOf(accounts) {
  const proved = accounts.filter((a) => !a.reason && a.kind !== "approximation" && a.epsilon_upper != null);
  return proved.reduce((best, a) => (a.epsilon_upper < best.epsilon_upper ? a : best), proved[0]) ?? accounts.find((a) => !a.reason);
}

// fileView is the answer to a file of rounds.
function fileView(name, a) {
  const value = a.epsilon_upper ?? a.epsilon;
  return [
    el(
      "p",
      { class: "sentence", "data-key": "file", "data-value": value },
      `The rounds of ${name} cost a record `,
      el("b", {}, `ε ${relation(a.kind)} ${up(value, 5)}`),
      ` at δ = ${up(a.delta_upper ?? a.delta, 3)}.`,
    ),
    el("p", { class: "quiet" }, `${kinds[a.kind]}, ${a.accountant}; ${a.adjacency} adjacency, ${a.sampling} sampling.`),
    el(
      "ul",
      { class: "problems" },
      (a.notes ?? []).map((note) => el("li", {}, `${note[0].toUpperCase()}${note.slice(1)}.`)),
    ),
    oddsOf(a.odds),
  ];
}

// headings is the head of a table: for each column its heading and its class, if any.
function headings(...columns) {
  const row = columns.map(([heading, kind]) => el("th", { scope: "col", class: kind }, heading));
  return el("thead", {}, el("tr", {}, row));
}

// costView is the card of all accountants.
function costView(element, plan, accounts) {
  const rows = accounts
    .filter((a) => !a.reason)
    .map((a) => {
      const value = a.epsilon_upper ?? a.epsilon;
      return {
        name: a.accountant,
        title: accountantTitles[a.accountant] ?? a.accountant,
        ink: accountantInks[a.accountant] ?? ink.gdp,
        kind: a.kind,
        lower: a.epsilon_lower,
        value,
        text: `${relation(a.kind)} ${up(value, 5)}`,
      };
    });
  const drawn = rows.filter((r) => r.value > 0);
  const table = el(
    "table",
    {},
    headings(["accountant", null], ["ε", "number"], ["what it is", null]),
    el(
      "tbody",
      {},
      rows.map((r) =>
        el(
          "tr",
          { "data-key": `account.${r.name}`, "data-value": r.value },
          el("th", { scope: "row" }, r.title),
          el("td", { class: "number" }, r.text),
          el("td", {}, kinds[r.kind]),
        ),
      ),
      accounts
        .filter((a) => a.reason)
        .map((a) =>
          el(
            "tr",
            { "data-key": `account.${a.accountant}`, "data-value": "" },
            el("th", { scope: "row" }, accountantTitles[a.accountant] ?? a.accountant),
            el("td", { class: "number" }, "–"),
            el("td", { title: a.reason }, "not covered"),
          ),
        ),
    ),
  );
  return [drawn.length > 0 ? costChart(element, drawn, plan.epsilon) : null, el("div", { class: "scroll" }, table)];
}

// recommendedView says which batch size is recommended for the plan's budget and epochs, and why.
function recommendedView(plan, take) {
  const r = plan.recommended;
  if (!r) return [];
  const own = r.sample_size === plan.run.sample_size;
  const text = own
    ? `s = ${count(r.sample_size)} is the recommended batch size: ${r.reason}.`
    : `Recommended is s = ${count(r.sample_size)}, with T = ${count(r.rounds)} and σ = ${up(r.sigma, 7)}: it keeps ` +
      `${inShare(r.signal)} of the full-batch signal for ${count(r.grad_computations)} gradients. Why this size: ${r.reason}.`;
  return [
    el("p", { "data-key": "recommended", "data-value": r.sample_size }, text),
    own
      ? null
      : el(
          "div",
          { class: "actions" },
          el("button", { type: "button", onclick: () => take(plan, r.sample_size) }, `Plan s = ${count(r.sample_size)}`),
        ),
  ];
}

// alternativesView shows the recommended batch size, what the tight accountant allows instead of the
// plan of another method, and what the run costs if records are replaced.
function alternativesView(plan, run, take) {
  const parts = [...recommendedView(plan, take), ...tighterView(plan, run)];
  const other = plan.adjacency === "add-or-remove" ? plan.tight?.replace_one?.run : null;
  if (other?.epsilon_upper != null)
    parts.push(
      el("p", { class: "quiet" }, `If one record is replaced instead, the same run costs ε ≤ ${up(other.epsilon_upper, 5)}.`),
    );
  return parts.length ? parts : null;
}

function tighterView(plan, apply) {
  const tight = plan.tight?.[plan.adjacency === "replace-one" ? "replace_one" : "add_or_remove"];
  const certified = certifiedOf(plan);
  if (!tight || !certified || plan.method === "pld") return [];
  const text = [
    `The certified cost is ${down(plan.epsilon / certified.epsilon_upper, 2)} times lower than the plan’s ε. `,
  ];
  const buttons = [];
  const setting = (s, title) => el("button", { type: "button", onclick: () => apply(s) }, title);
  if (tight.largest_sample) {
    const s = tight.largest_sample;
    text.push(`At this σ the tight accountant allows s = ${count(s.sample_size)} in ${count(s.rounds)} rounds. `);
    buttons.push(setting(s, `Take s = ${count(s.sample_size)}`));
  }
  if (tight.least_noise) {
    const s = tight.least_noise;
    text.push(`For this s and T, σ = ${up(s.sigma, 5)} is enough.`);
    buttons.push(setting(s, `Take σ = ${up(s.sigma, 5)}`));
  }
  return [el("p", {}, text), el("div", { class: "actions" }, buttons)];
}

// theoremOf compares a plan with what the paper's theorem needs; null if it does not cover the question.
function theoremOf(plan) {
  const t = plan.closed_form;
  if (!t) return null;
  return el(
    "p",
    { class: "quiet", "data-key": "theorem", "data-value": t.sigma ?? t.epsilon_upper ?? "" },
    t.sigma != null
      ? `For the same budget, the paper’s theorem needs σ = ${up(t.sigma, 7)}, with s at most ${count(t.s_max)}.`
      : `By the paper’s theorem, this run costs ε ≤ ${up(t.epsilon_upper, 5)}.`,
  );
}

const conditionWords = {
  "simpleF.treq1": "small samples: θs ≤ g(σ)·N",
  "simpleF.treq2": "ε/(γk) ≤ h(σ)",
  "simpleF.treq3": "ε ≥ γθ²k·s/N",
  "simpleF.treq4": "σ ≥ σ_eq(ε, δ)",
  "Main.sigma": "σ ≥ σ_eq(ε, δ)",
  "Main.delta": "δ ≤ 1/N",
  "Main.epsilon": "ε < 0.5",
  "Main.N": "N ≥ 10,000",
  "Main.theta": "θ ≤ 6.85",
  "Main.minK": "(2/e)²k² ≥ ½ + ln(1/δ)",
  "Main.minT": "T ≥ γθ²k²/ε",
};

// conditionTable lists the conditions of one theorem.
function conditionTable(theorem, list) {
  return el(
    "div",
    { class: "scroll" },
    el(
      "table",
      {},
      headings(["condition", null], ["status", null], ["margin", "number"]),
      el(
        "tbody",
        {},
        list.map((c) =>
          el(
            "tr",
            { "data-key": `condition.${theorem}.${c.name}`, "data-value": c.margin },
            el(
              "th",
              { scope: "row" },
              c.name,
              el("br"),
              el("small", {}, conditionWords[`${theorem}.${c.name}`] ?? ""),
            ),
            el("td", {}, el("span", { class: c.met ? "pill met" : "pill not" }, c.met ? "✓ met" : "✗ not met")),
            el("td", { class: "number" }, inPercent(c.margin)),
          ),
        ),
      ),
    ),
  );
}

// conditionsView is the card of the theorems, or of the certified interval if no theorem
// is needed.
function conditionsView(plan) {
  if (plan.conditions.length === 0) {
    const b = plan.per_record;
    return [
      el(
        "p",
        {},
        `This plan is accounted by ${accountantTitles[plan.method] ?? plan.method}: ` +
          "no condition of a theorem limits it. ",
        b && b.epsilon_lower > 0
          ? `Its true ε lies in [${down(b.epsilon_lower, 5)}, ${up(b.epsilon_upper, 5)}].`
          : "",
      ),
      theoremOf(plan),
    ];
  }
  const of = (name) => plan.conditions.filter((c) => c.theorem === name);
  const main = of("Main"),
    met = main.filter((c) => c.met).length;
  return [
    conditionTable("simpleF", of("simpleF")),
    main.length > 0
      ? el(
          "details",
          {},
          el(
            "summary",
            {},
            `Theorem Main: ${met} of ${main.length} met`,
            " ",
            el("small", {}, "not needed for this plan"),
          ),
          conditionTable("Main", main),
        )
      : null,
  ];
}

// frontierNumbers is the folded table of a frontier. Arrow keys or the pointer move to a row;
// Enter or a click chooses it.
function frontierNumbers(rows, walk, choose) {
  const titles = ["s", "T", "closed form σ, add or remove", "certified σ, add or remove", "certified σ, replace one", "signal",
    "gradients"];
  const cell = (v) => el("td", { class: "number" }, v == null ? "–" : up(v, 5));
  const buttons = rows.map((r, i) =>
    el(
      "button",
      { type: "button", class: "plain", onfocus: () => walk(i), "aria-label": `Plan s = ${count(r.sample_size)}` },
      count(r.sample_size),
    ),
  );
  const lines = rows.map((r, i) => {
    const values = [r.sample_size, r.rounds, r.sigma_closed_form, r.sigma_add_or_remove, r.sigma_replace_one, r.signal,
      r.grad_computations];
    return el(
      "tr",
      {
        onclick: () => choose(rows[i]),
        "data-key": `frontier.${i}`,
        "data-value": values.map((v) => v ?? "").join(" "),
      },
      el("td", { class: "number" }, buttons[i]),
      el("td", { class: "number" }, count(r.rounds)),
      values.slice(2, 5).map(cell),
      el("td", { class: "number" }, r.signal > 0 ? inShare(r.signal) : "–"),
      el("td", { class: "number" }, count(r.grad_computations)),
    );
  });
  const moves = (e) => {
    const at = buttons.indexOf(e.target);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[e.key];
    if (at < 0 || to === undefined) return;
    e.preventDefault();
    buttons[Math.min(rows.length - 1, Math.max(0, to))].focus();
  };
  const table = el(
    "table",
    { class: "rows" },
    headings(...titles.map((t) => [t, "number"])),
    el("tbody", { onkeydown: moves }, lines),
  );
  return {
    node: el(
      "details",
      { id: "frontier-numbers" },
      el("summary", {}, "The numbers ", el("small", {}, "arrow keys walk, Enter or a click plans a row")),
      el("div", { class: "scroll" }, table),
    ),
    // mark makes a row the current one, which Tab reaches.
    mark(at) {
      lines.forEach((line, i) => line.classList.toggle("here", i === at));
      buttons.forEach((button, i) => (button.tabIndex = i === at ? 0 : -1));
    },
  };
}

// frontierView is the card of the frontier. A slider, the table and clicks in the chart move
// along it; choose is called with the chosen row.
function frontierView(element, plan, frontier, choose) {
  const rows = frontier.rows;
  const own = plan.run ? { s: plan.run.sample_size, sigma: plan.sigma } : null;
  const size = plan.recommended?.sample_size;
  const recommended = size >= rows[0].sample_size && size <= rows.at(-1).sample_size ? size : null;
  let at = Math.max(0, own ? rows.findIndex((r) => r.sample_size === own.s) : Math.floor(rows.length / 2));
  const said = el("p", { id: "frontier-said" }),
    chart = el("div", { class: "clicked" });
  const words = () => {
    const r = rows[at];
    const part = (v, what) => (v == null ? null : `σ = ${up(v, 5)} ${what}`);
    const list = [
      part(r.sigma_closed_form, "closed form, add or remove"),
      part(r.sigma_add_or_remove, "certified, add or remove"),
      part(r.sigma_replace_one, "certified, replace one"),
    ].filter(Boolean);
    const keeps = r.signal > 0 ? `. It keeps ${inShare(r.signal)} of the full-batch signal` : "";
    return (
      `s = ${count(r.sample_size)}, T = ${count(r.rounds)}: ${list.length ? list.join("; ") : "no σ is enough"}${keeps}, ` +
      `for ${count(r.grad_computations)} gradients.`
    );
  };
  const range = el("input", {
    type: "range",
    id: "frontier-walk",
    min: 0,
    max: rows.length - 1,
    step: 1,
    value: at,
    "aria-describedby": "frontier-said",
  });
  const walk = (to) => {
    if (to === at) return;
    at = to;
    range.value = at;
    draw();
  };
  const numbers = frontierNumbers(rows, walk, choose);
  const draw = () => {
    chart.replaceChildren(frontierChart(element, rows, own, at, walk, recommended));
    said.textContent = words();
    range.setAttribute("aria-valuetext", words());
    numbers.mark(at);
  };
  range.addEventListener("input", () => walk(Number(range.value)));
  range.addEventListener("keydown", (e) => {
    if (e.key === "Enter") choose(rows[at]);
  });
  draw();
  return {
    redraw: draw,
    nodes: [
      chart,
      legend(frontierLines.map((l) => ({ ...l }))),
      el(
        "div",
        { class: "walk" },
        el("label", { for: "frontier-walk" }, "Batch size"),
        range,
        el("button", { type: "button", onclick: () => choose(rows[at]) }, "Plan this point"),
      ),
      said,
      numbers.node,
    ],
  };
}

// tradeoffView is the card of the trade-off curve. A slider moves along its points.
function tradeoffView(element, tradeoff) {
  const lower = tradeoff.lines.find(curveStyles[0].match);
  const points = (lower?.points ?? []).filter((p) => p.alpha >= 1e-4 && p.alpha <= 0.5);
  if (!points.length) return { redraw() {}, nodes: [el("p", { class: "quiet" }, "No certified curve.")] };
  let at = points.findIndex((p) => p.alpha >= 0.05);
  if (at < 0) at = points.length - 1;
  const chart = el("div"),
    said = el("p", { id: "tradeoff-said" });
  const range = el("input", {
    type: "range",
    id: "tradeoff-walk",
    min: 0,
    max: points.length - 1,
    step: 1,
    value: at,
    "aria-describedby": "tradeoff-said",
  });
  const words = () =>
    `An attacker who wrongly suspects ${inHundredDown(points[at].alpha)} in 100 others recognises at most ` +
    `${inHundred(1 - points[at].beta)} in 100 members.`;
  const draw = () => {
    chart.replaceChildren(tradeoffChart(element, tradeoff.lines, points[at]));
    said.textContent = words();
    range.setAttribute("aria-valuetext", words());
  };
  range.addEventListener("input", () => {
    at = Number(range.value);
    draw();
  });
  draw();
  const shown = curveStyles.filter((s) => tradeoff.lines.some(s.match));
  return {
    redraw: draw,
    nodes: [
      chart,
      legend(shown),
      el("div", { class: "walk" }, el("label", { for: "tradeoff-walk" }, "Wrong about"), range),
      said,
    ],
  };
}

// copyButton copies a text and confirms it.
function copyButton(text, title = "Copy") {
  const button = el("button", { type: "button" }, title);
  button.addEventListener("click", async () => {
    button.textContent = (await copied(text())) ? "Copied" : "Not copied";
    setTimeout(() => {
      button.textContent = title;
    }, 1500);
  });
  return button;
}

// copied copies a text, also without the modern clipboard API.
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = el("textarea", { class: "unseen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

const codeTitles = {
  proactivedp: "ProactiveDP",
  opacus: "Opacus",
  "tf-privacy": "TF Privacy",
  "jax-privacy": "JAX Privacy",
  flower: "Flower",
  latex: "LaTeX",
};

// codeView is the card of the code, in tabs that arrow keys select. choose is called with the format
// that the user selects, and not while the card is made: it changes the address.
function codeView(list, chosen, choose) {
  let at = Math.max(
    0,
    list.findIndex((c) => c.format === chosen),
  );
  const panel = el("div", { role: "tabpanel", id: "code-panel" });
  const tabs = list.map((c, i) =>
    el(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${c.format}`,
        "aria-controls": "code-panel",
        onclick: () => select(i, false),
      },
      codeTitles[c.format] ?? c.format,
    ),
  );
  function pick(i) {
    at = i;
    const c = list[i];
    tabs.forEach((t, j) => {
      t.setAttribute("aria-selected", String(j === i));
      t.tabIndex = j === i ? 0 : -1;
    });
    panel.setAttribute("aria-labelledby", `tab-${c.format}`);
    panel.replaceChildren(
      el(
        "pre",
        { tabindex: 0, "aria-label": `Code: ${codeTitles[c.format] ?? c.format}`, "data-key": `code.${c.format}` },
        el("code", {}, c.text),
      ),
      c.tried
        ? el("p", { class: "quiet about" }, `${c.library}. ${c.tried[0].toUpperCase()}${c.tried.slice(1)}.`)
        : el("span"),
      el(
        "ul",
        { class: "caveats" },
        (c.caveats ?? []).map((t) => el("li", {}, t)),
      ),
    );
  }
  function select(i, focus) {
    pick(i);
    if (focus) tabs[i].focus();
    choose(list[i].format);
  }
  const bar = el(
    "div",
    {
      class: "tabs",
      role: "tablist",
      "aria-label": "Library",
      onkeydown: (e) => {
        const step = { ArrowRight: 1, ArrowLeft: -1, Home: -at, End: list.length - 1 - at }[e.key];
        if (step === undefined) return;
        e.preventDefault();
        select((at + step + list.length) % list.length, true);
      },
    },
    tabs,
  );
  pick(at);
  return [
    el(
      "div",
      { class: "code-head" },
      bar,
      copyButton(() => list[at].text),
    ),
    panel,
  ];
}

// statementView is the card of the statement.
function statementView(text) {
  return [
    el("p", { class: "paper", "data-key": "statement", "data-value": text }, text),
    el(
      "div",
      { class: "actions" },
      copyButton(() => text),
    ),
  ];
}

const compared = [
  ["ε", (p) => p.epsilon, (v, p) => `${relation(p.kind)} ${up(v, 5)}`, -1],
  [
    "ε, certified",
    (p) => certifiedOf(p)?.epsilon_upper ?? (p.method === "pld" ? p.epsilon : null),
    (v) => `≤ ${up(v, 5)}`,
    -1,
  ],
  ["δ", (p) => p.delta, (v) => up(v, 3), 0],
  ["noise σ", (p) => p.sigma, (v) => up(v, 6), 0],
  ["batch size s", (p) => p.run?.sample_size, (v) => count(v), 0],
  ["rounds T", (p) => p.run?.rounds, (v) => count(v), 0],
  ["share of the full-batch signal", (p) => p.signal, (v) => inShare(v), 1],
  ["gradient computations", (p) => p.run?.grad_computations, (v) => count(v), 0],
  ["noise per record, σ/s", (p) => (p.run ? p.sigma / p.run.sample_size : null), (v) => up(v, 3), -1],
  ["recognised in 100, guessing 5", (p) => p.odds?.true_positive, (v) => inHundred(v), -1],
  ["planned by", (p) => p.method, (v) => methods[v] ?? v, 0],
  ["adjacency", (p) => p.adjacency, (v) => v, 0],
  ["sampling", (p) => p.sampling, (v, p) => (p.redraw ? `${v}, ${p.redraw}` : v), 0],
];

// lackOf says why a kept plan has no value: it is being computed, has no answer, or is not
// feasible.
function lackOf(plan) {
  if (!plan) return "…";
  if (plan.failed) return "no answer";
  return plan.feasible ? "–" : "not feasible";
}

// compareView is the card that compares kept plans.
function compareView(kept, keep, drop, load) {
  const actions = el(
    "div",
    { class: "actions" },
    el(
      "button",
      { type: "button", onclick: keep, disabled: kept.length >= mostKept },
      kept.length >= mostKept ? "Four are kept" : "Keep this plan",
    ),
  );
  if (kept.length === 0)
    return [
      el(
        "p",
        { class: "quiet" },
        "Keep a plan, change the question, and keep the next: they are shown side by side.",
      ),
      actions,
    ];
  const head = el(
    "tr",
    {},
    el("th", { scope: "col" }, "plan"),
    kept.map((k, i) =>
      el("th", { scope: "col" }, `${"ABCD"[i]}: ${questionOf(k.state).title.split(" →")[0]}`),
    ),
  );
  const body = compared.map(([name, of, write, better], row) => {
    const values = kept.map((k) => (k.plan?.feasible ? of(k.plan) : null) ?? null);
    const there = values.filter((v) => typeof v === "number");
    const best = better !== 0 && there.length > 1 ? (better < 0 ? Math.min : Math.max)(...there) : null;
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, name),
      values.map((v, i) =>
        el(
          "td",
          {
            class: v !== null && v === best ? "best" : null,
            "data-key": `compare.${i}.${row}`,
            "data-value": v ?? "",
          },
          v === null ? lackOf(kept[i].plan) : write(v, kept[i].plan),
          v !== null && v === best ? el("span", { class: "unseen" }, better < 0 ? " (least)" : " (most)") : null,
        ),
      ),
    );
  });
  const foot = el(
    "tr",
    {},
    el("td", {}),
    kept.map((k, i) =>
      el(
        "td",
        {},
        el("button", { type: "button", class: "plain", onclick: () => load(i) }, `Load ${"ABCD"[i]}`),
        el("button", { type: "button", class: "plain", onclick: () => drop(i) }, `Remove ${"ABCD"[i]}`),
      ),
    ),
  );
  return [
    el(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Kept plans" },
      el("table", { class: "compare" }, el("thead", {}, head), el("tbody", {}, body, foot)),
    ),
    actions,
  ];
}

// schedules describe how the step size of a proposed training decreases.
const schedules = { zero: "η₀(1−t/K)", cosine: "η₀(1+cos(πt/K))/2", constant: "η₀" };

// stepsOf describes the step sizes of a setting, and its other parts that cost neither
// privacy nor gradients.
function stepsOf(setting) {
  return [
    schedules[setting.schedule] ?? setting.schedule,
    setting.average,
    setting.feature_map,
    setting.input_scale ? `×${setting.input_scale}` : null,
  ].filter(Boolean);
}

// proposedFor says what the ε of proposals covers and what it does not.
function proposedFor(report) {
  const claim = report.proposals[0].certified.per_record;
  return [
    `Each within ε ≤ ${up(report.target_epsilon, 6)} per record at δ = ${up(report.delta, 5)}, ` +
      `${report.adjacency} adjacency, ${report.sampling} sampling: upper bounds, by ${claim.accountant}. ` +
      "An interval is for the test accuracy of one training, " +
      `at nominal ${(report.confidence * 100).toFixed(0)} %.`,
    report.probe.statement[0].toUpperCase() + report.probe.statement.slice(1) + ".",
    report.data_note ? `${report.data}: ${report.data_note}.` : null,
    ...(report.notes ?? []),
  ];
}

// proposalsView is the card of settings that are predicted to reach an accuracy.
function proposalsView(report, take) {
  const head = ["", "accuracy", "interval", "ε", "σ", "s", "T", "C", "η₀", "steps", "gradients", ""];
  return [
    proposedFor(report)
      .filter(Boolean)
      .map((text) => el("p", { class: "quiet" }, text)),
    el(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Proposals" },
      el(
        "table",
        {},
        headings(...head.map((t) => (t ? [t, "number"] : [el("span", { class: "unseen" }, "rank or action"), null]))),
        el(
          "tbody",
          {},
          report.proposals.map((p) =>
            el(
              "tr",
              { "data-key": `proposal.${p.rank}`, "data-value": p.predicted_accuracy },
              el("td", {}, String(p.rank)),
              el("td", { class: "number" }, el("b", {}, p.predicted_accuracy.toFixed(4))),
              el("td", { class: "number" }, `${decimals(p.predicted_low, 3, -1)}–${decimals(p.predicted_high, 3, 1)}`),
              el("td", { class: "number" }, `≤ ${up(p.certified.per_record.epsilon_upper, 4)}`),
              el("td", { class: "number" }, up(p.setting.sigma, 5)),
              el("td", { class: "number" }, String(p.setting.sample_size)),
              el("td", { class: "number" }, count(p.rounds)),
              el("td", { class: "number" }, String(p.setting.clip)),
              el("td", { class: "number" }, String(p.setting.eta0)),
              el("td", {}, stepsOf(p.setting).join(" ")),
              el("td", { class: "number" }, count(p.gradients)),
              el(
                "td",
                {},
                el("button", { type: "button", class: "plain", onclick: () => take(p, report) }, "Look at it"),
              ),
            ),
          ),
        ),
      ),
    ),
  ];
}
