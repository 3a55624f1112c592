// The page: from a change of the form to the question and the shown answer.

const state = stateOf(location.hash.slice(1));
const kept = keptOf(location.hash.slice(1)).map((address) => ({ address, state: stateOf(address), plan: null }));
let rounds = null, // the file of rounds that was chosen: its name and its text
  lanes = null,
  asked = 0,
  spoken = null,
  current = null,
  redraws = {},
  timings = {};

const $ = (id) => document.getElementById(id);

// ---- the form

function sliderOf(f, value) {
  const lg = f.linear ? (v) => v : Math.log10;
  const place = (lg(value) - lg(f.low)) / (lg(f.high) - lg(f.low));
  return Number.isFinite(place) ? Math.round(Math.min(1, Math.max(0, place)) * 1000) : 0;
}

function valueOf(f, place) {
  if (f.linear) return String(Number((f.low + ((f.high - f.low) * place) / 1000).toFixed(3)));
  const v = 10 ** (Math.log10(f.low) + ((Math.log10(f.high) - Math.log10(f.low)) * place) / 1000);
  return String(f.whole ? Math.round(Number(v.toPrecision(3))) : Number(v.toPrecision(3)));
}

function endText(v) {
  return v >= 1e4 || v < 1e-3 ? v.toExponential(0).replace("+", "") : String(v);
}

// keys are keyboards of phones: the one for decimals has a comma in some languages, and no
// letter for 1e-5.
function keys(whole) {
  return whole ? "numeric" : "text";
}

function fieldView(name) {
  const f = fields[name],
    id = `field-${name}`;
  const text = el("input", {
    type: "text",
    id,
    inputmode: keys(f.whole),
    spellcheck: "false",
    value: state[name],
    "aria-describedby": `${id}-wrong`,
    placeholder: name === "delta" ? "by N" : f.optional ? "any" : null,
  });
  const low = f.low,
    high = f.high;
  const range = el("input", {
    type: "range",
    min: 0,
    max: 1000,
    step: 1,
    "aria-label": `${f.label}, slider`,
    value: sliderOf(f, numberOf(state[name], f.whole) || (name === "delta" ? 1e-5 : low)),
  });
  text.addEventListener("input", () => {
    state[name] = text.value;
    const v = numberOf(text.value, f.whole);
    if (v > 0) {
      range.value = sliderOf(f, v);
      range.setAttribute("aria-valuetext", text.value);
    }
    changed(name);
  });
  range.addEventListener("input", () => {
    state[name] = text.value = valueOf(f, Number(range.value));
    range.setAttribute("aria-valuetext", text.value);
    changed(name);
  });
  range.setAttribute("aria-valuetext", state[name] || "by N");
  return el(
    "div",
    { class: "field", "data-field": name },
    el("div", { class: "head" }, el("label", { for: id }, f.label), el("span", { class: "hint" }, f.hint)),
    el(
      "div",
      { class: "row" },
      text,
      el(
        "div",
        {},
        range,
        el(
          "div",
          { class: "ends", "aria-hidden": "true" },
          el("span", {}, endText(low)),
          el("span", {}, endText(high)),
        ),
      ),
    ),
    el("div", { class: "wrong", id: `${id}-wrong` }),
  );
}

function plainField(name, label, hint) {
  const id = `field-${name}`;
  const text = el("input", {
    type: "text",
    id,
    inputmode: keys(name === "clients"),
    value: state[name],
    "aria-describedby": `${id}-wrong`,
  });
  text.addEventListener("input", () => {
    state[name] = text.value;
    changed(name);
  });
  return el(
    "div",
    { class: "field", "data-field": name },
    el("div", { class: "head" }, el("label", { for: id }, label), el("span", { class: "hint" }, hint)),
    text,
    el("div", { class: "wrong", id: `${id}-wrong` }),
  );
}

function selectField(name, label, options) {
  const id = `field-${name}`;
  const select = el(
    "select",
    { id },
    Object.entries(options).map(([value, title]) => el("option", { value, selected: state[name] === value }, title)),
  );
  select.addEventListener("change", () => {
    state[name] = select.value;
    changed(name);
  });
  if (!Object.hasOwn(options, state[name])) select.selectedIndex = -1; // from a link: show none as chosen
  return el("div", { class: "field" }, el("div", { class: "head" }, el("label", { for: id }, label)), select);
}

function choiceView(name) {
  const q = questions[name],
    off = q.server && !lanes?.propose;
  const radio = el("input", {
    type: "radio",
    name: "question",
    value: name,
    checked: state.question === name,
    disabled: off,
  });
  radio.addEventListener("change", () => {
    carryOver();
    choose(name);
    $("question").querySelector(`[value="${name}"]`).focus();
  });
  return el(
    "label",
    { class: "choice" },
    radio,
    el("span", {}, q.title, off ? el("small", {}, " (in proactivedp serve)") : null),
  );
}

// choose changes the question.
function choose(name) {
  if (questionOf(state).methods?.length === 1) state.method = starting.method; // it had no choice
  state.question = name;
  if (!questionOf(state).sampling) state.sampling = starting.sampling;
  if (questionOf(state).file) state.delta ||= "1e-5"; // to be seen and changed: without N, δ has no default
  buildForm();
  changed("question");
}

function buildForm() {
  const q = questionOf(state);
  const parts = [
    el("fieldset", {}, el("legend", {}, choices.question.label), Object.keys(questions).map(choiceView)),
    el("p", { class: "about" }, q.about),
  ];
  if (q.server) {
    const sets = lanes?.sets ?? [state.data]; // before the sets are known
    state.data ||= sets[0] ?? ""; // an unknown one from a link is kept, to be refused
    parts.push(
      selectField("data", "Public data set", Object.fromEntries(sets.map((s) => [s, s]))),
      q.fields.map(fieldView),
      plainField("clients", "Clients", "that hold each record"),
      el(
        "button",
        { type: "button", class: "primary", id: "propose", onclick: proposeNow, disabled: !lanes?.propose },
        "Search settings",
      ),
    );
  } else if (q.file) {
    const file = el("input", { type: "file", id: "field-file", accept: ".json,.csv,.txt,.py,text/plain" });
    file.addEventListener("change", () => take(file.files[0]));
    parts.push(
      el("div", { class: "field" }, el("div", { class: "head" }, el("label", { for: "field-file" }, "File of rounds")), file),
      q.fields.map(fieldView),
    );
  } else {
    const allowed = Object.fromEntries(Object.entries(methods).filter(([m]) => !q.methods || q.methods.includes(m)));
    parts.push(
      q.fields.map(fieldView),
      q.sampling ? selectField("sampling", choices.sampling.label, samplings) : [],
      selectField("adjacency", choices.adjacency.label, adjacencies),
      selectField("method", choices.method.label, allowed),
    );
    const several = state.clients.trim() !== "1" || state.theta.trim() !== "1";
    const shared = el("input", { type: "checkbox", id: "field-shared", checked: state.shared === "1" });
    shared.addEventListener("change", () => {
      state.shared = shared.checked ? "1" : "";
      changed("shared");
    });
    parts.push(
      el(
        "details",
        { open: several, id: "more" },
        el("summary", {}, "Several clients, growing samples"),
        plainField("clients", "Clients", "1 to 1,000,000"),
        el("label", { class: "check" }, shared, "every client holds every record"),
        plainField("theta", "θ", "largest over mean batch size"),
      ),
    );
  }
  $("question").replaceChildren(...parts.flat());
  markWrong(requestOf(state).wrong);
}

function markWrong(wrong) {
  for (const field of $("question").querySelectorAll("[data-field]")) {
    const name = field.dataset.field,
      input = field.querySelector("input[type=text]");
    field.querySelector(".wrong").textContent = wrong[name]
      ? `${wrong[name][0].toUpperCase()}${wrong[name].slice(1)}.`
      : "";
    if (wrong[name]) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  }
}

// waits reports whether the shown answer is that of the previous question.
function waits() {
  return document.body.dataset.state === "asking";
}

// carryOver copies the answer's numbers to the fields of the next question.
function carryOver() {
  if (!current?.run || waits()) return;
  const own = fieldsOf(state),
    run = current.run;
  const values = {
    sample_size: run.sample_size,
    rounds: run.rounds,
    sigma: Number(up(current.sigma, 7).replace(/,/g, "")),
    epsilon: Number(up(current.epsilon, 5).replace(/,/g, "")),
    epochs: Number(down(current.epochs, 6).replace(/,/g, "")),
  };
  for (const [name, v] of Object.entries(values)) if (!own.includes(name) && v > 0) state[name] = String(v);
}

// ---- what changes

function changed(name) {
  const chosen = () => state.method + state.adjacency + state.sampling;
  const before = chosen();
  lawful(state, name);
  if (before !== chosen()) {
    buildForm();
    $(`field-${name}`)?.focus(); // keep the focus
  }
  remember();
  answer();
}

function remember() {
  const address = [addressOf(state), ...kept.map((k) => `keep=${encodeURIComponent(k.address)}`)].join("&");
  if (location.hash.slice(1) !== address) history.replaceState(null, "", `#${address}`);
}

function takeState(changes) {
  Object.assign(state, starting, changes);
  lawful(state, "");
  remember();
  buildForm();
  answer();
}

// applyRemedy makes the change that a remedy names.
function applyRemedy(remedy) {
  if (remedy.change === "method") state.method = remedy.method;
  else state[remedy.change] = String(remedy.to);
  remember();
  buildForm();
  answer();
  $("answer-title").focus();
}

// applySetting plans a whole run, by the tight accountant.
function applySetting(setting) {
  Object.assign(state, {
    question: "run",
    sampling: starting.sampling,
    sample_size: String(setting.sample_size),
    rounds: String(setting.rounds),
    sigma: String(setting.sigma),
    method: "pld",
  });
  remember();
  buildForm();
  answer();
  $("answer-title").focus();
}

// applySize plans a batch size for the epochs and the budget of a plan or a frontier.
function applySize(of, size) {
  Object.assign(state, {
    question: "batch",
    sample_size: String(size),
    epsilon: String(of.target_epsilon ?? of.epsilon),
    method: "pld",
    epochs: String(of.epochs),
  });
  remember();
  buildForm();
  answer();
  $("answer-title").focus();
}

// ---- what is asked

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function timed(name, lane, question) {
  const start = performance.now();
  const a = await lane.ask(question);
  if (a !== superseded) timings[name] = performance.now() - start;
  return a;
}

async function answer() {
  const own = ++asked;
  Object.assign(document.body.dataset, { state: "asking", asked: own }); // state of which question
  hide("proposals");
  lanes?.propose?.stop();
  if (state.question === "accuracy") return accuracyHint();
  if (state.question === "file") return fileAnswer(own);
  const { request, wrong } = requestOf(state);
  markWrong(wrong);
  if (!lanes) return;
  lanes.slow.stop();
  if (Object.keys(wrong).length > 0) {
    const labelled = (name) => (fields[name] ?? choices[name])?.label ?? name;
    const problems = Object.entries(wrong).map(([name, text]) => `${labelled(name)} ${text}.`);
    return failed({ kind: "wrong", problems });
  }
  stale(true, ...cards);
  timings = {};
  const quick = await timed("plan", lanes.quick, { plan: { ...request, code: true } });
  if (quick === superseded || own !== asked) return;
  if (quick.error) return failed(quick.error);
  showPlan(quick.plan, false);
  if (!quick.plan.feasible) {
    document.body.dataset.state = "planned";
    later(quick.plan, own, request);
    return;
  }
  const { events } = quick.plan.releases[0];
  const accounts = await timed("account", lanes.quick, {
    account: { events, delta: quick.plan.delta },
  });
  if (accounts === superseded || own !== asked) return;
  showCosts(quick.plan, accounts);
  document.body.dataset.state = "planned";
  later(quick.plan, own, request, accounts);
}

// later asks the slow questions, once the form has not changed for a while.
async function later(plan, own, request, accounts) {
  await pause(120);
  if (own !== asked) return;
  if (plan.feasible) {
    const tight = await timed("tight", lanes.slow, { plan: { ...request, tight: true, code: true } });
    if (tight === superseded || own !== asked) return;
    plan = tight.plan ?? plan;
    showPlan(plan, true);
    showCosts(plan, accounts);
  }
  document.body.dataset.state = "certified";
  if (plan.feasible) {
    const { events } = plan.releases[0];
    const curve = await timed("curve", lanes.slow, {
      tradeoff: { events, delta: plan.delta, points: 81, epsilons: 60 },
    });
    if (curve === superseded || own !== asked) return;
    showTradeoff(curve);
    if (curve.tradeoff?.odds && !(plan.odds?.true_positive <= curve.tradeoff.odds.true_positive)) {
      plan.odds = curve.tradeoff.odds;
      showPlan(plan, true);
    }
  }
  if (plan.epsilon > 0 && plan.epochs > 0) {
    const front = await timed("frontier", lanes.slow, { plan: { ...request, points: plan.run?.batches ? 9 : 25 } });
    if (front === superseded || own !== asked) return;
    showFrontier(plan, front);
  } else hide("frontier");
  $("timing").textContent =
    `Computed ${lanes.server ? "by the server" : "here"} in ` +
    Object.entries(timings)
      .map(([k, v]) => `${Math.round(v)} ms (${k})`)
      .join(", ") +
    ".";
  await computeKept(own);
  if (own === asked) document.body.dataset.state = "answered";
}

// computeKept asks for the compared plans that have no answer yet. Meanwhile, plans may be
// added or removed.
async function computeKept(own) {
  for (let k; (k = kept.find((one) => !one.plan)); ) {
    const { request, wrong } = requestOf(k.state);
    const refused = Object.keys(wrong).length > 0; // an omitted field would get its default
    const a = refused ? {} : await lanes.slow.ask({ plan: { ...request, tight: true } });
    if (a === superseded || own !== asked) return;
    k.plan = a.plan ?? { feasible: false, failed: true };
    showCompare();
  }
}

// ---- what is shown

function hide(...ids) {
  for (const id of ids) $(id).hidden = true;
}

function unhide(...ids) {
  for (const id of ids) $(id).hidden = false;
}

// cards are those of the plan; the others show themselves that they are being computed.
const cards = ["answer", "cost", "conditions", "tighter", "code", "statement"];

// stale marks cards of the previous question.
function stale(is, ...ids) {
  for (const id of ids) {
    $(id).classList.toggle("stale", is);
    $(id).setAttribute("aria-busy", is);
  }
}

// failed shows a problem, or that a file must be chosen first if there is no problem.
function failed(problem) {
  current = null;
  stale(false, ...cards);
  $("answer").classList.toggle("bad", problem !== null);
  show(
    "answer-body",
    problem
      ? problemView(problem, applyRemedy, state)
      : el("p", {}, "Choose a file of rounds, or drop it on this page. It is read here and sent ",
          lanes.server ? "only to proactivedp on this machine." : "nowhere."),
  );
  hide("cost", "conditions", "tighter", "frontier", "tradeoff", "code", "statement");
  showCompare();
  $("brief").textContent = problem ? "No answer: see why" : "Choose a file";
  if (problem) speak(problem.problems.join(" "));
  document.body.dataset.state = "answered";
}

function showPlan(plan, isLate) {
  current = plan;
  stale(false, ...cards.filter((id) => id !== "cost")); // showCosts does that
  $("answer").classList.toggle("bad", !plan.feasible);
  show("answer-body", answerView(state, plan, isLate, applyRemedy));
  speak($("answer-body").querySelector(".sentence").textContent);
  $("brief").textContent = plan.feasible
    ? `ε ${relation(plan.kind)} ${up(plan.epsilon, 4)} · σ ${up(plan.sigma, 5)} · ` +
      `s ${count(plan.run.sample_size)} · T ${count(plan.run.rounds)}`
    : "Not feasible: see the alternatives";
  if (plan.feasible) {
    unhide("cost", "conditions", "code", "statement", "tradeoff");
    show(
      "code-body",
      codeView(plan.code ?? [], state.tab, (tab) => {
        state.tab = tab;
        remember();
      }),
    );
    show("statement-body", statementView(plan.statement));
    if (!isLate) show("tradeoff-body", waiting("The trade-off curve is being computed …"));
  } else hide("cost", "code", "statement", "tradeoff");
  if (plan.feasible || plan.conditions.length) {
    unhide("conditions");
    $("conditions-of").textContent = plan.conditions.length ? "of Theorem simpleF, which the plan needs" : "";
    show("conditions-body", conditionsView(plan));
  } else hide("conditions");
  const others = plan.feasible ? alternativesView(plan, applySetting, applySize) : null;
  if (isLate || !others) $("tighter").hidden = !others;
  if (others) show("tighter-body", others);
  if (!isLate) {
    unhide("frontier");
    $("frontier-of").textContent = "";
    show("frontier-body", waiting("The frontier is being computed …"));
  }
  showCompare();
}

function showCosts(plan, accounts) {
  const draw = () =>
    show(
      "cost-body",
      accounts.error
        ? problemView(accounts.error, applyRemedy, state)
        : costView($("cost-body"), plan, accounts.account),
    );
  draw();
  stale(false, "cost");
  redraws.cost = draw;
}

function showTradeoff(a) {
  if (a.error) {
    show("tradeoff-body", el("p", { class: "quiet" }, a.error.problems.join(" ")));
    return;
  }
  const view = tradeoffView($("tradeoff-body"), a.tradeoff);
  show("tradeoff-body", view.nodes);
  redraws.tradeoff = view.redraw;
}

function showFrontier(plan, a) {
  if (a.error || !a.plan.frontier) {
    show(
      "frontier-body",
      el("p", { class: "quiet" }, a.error ? a.error.problems.join(" ") : (a.plan.frontier_reason ?? "No frontier.")),
    );
    return;
  }
  const f = a.plan.frontier;
  $("frontier-of").textContent =
    `least σ for each batch size at ε = ${up(f.epsilon, 5)}, δ = ${up(f.delta, 3)}, k = ${down(f.epochs, 6)} epochs`;
  const view = frontierView($("frontier-body"), plan, f, (row) => applySize(f, row.sample_size));
  show("frontier-body", view.nodes);
  redraws.frontier = view.redraw;
}

function showCompare() {
  show(
    "compare-body",
    compareView(
      kept,
      () => {
        if (!current || kept.length >= mostKept) return;
        kept.push({
          address: addressOf(state),
          state: { ...state },
          plan: !waits() && (current.tight || current.method === "pld") ? current : null,
        });
        remember();
        showCompare();
        stay();
        // Earlier, this would cancel the current search, which ends here.
        if (document.body.dataset.state === "answered") computeKept(asked);
      },
      (i) => {
        kept.splice(i, 1);
        remember();
        showCompare();
        stay();
      },
      (i) => {
        takeState(kept[i].state);
        $("answer-title").focus();
      },
    ),
  );
}

// stay keeps the focus among the kept plans if the pressed button is gone.
function stay() {
  if (document.activeElement === document.body) $("compare-body").querySelector("button:not(:disabled)")?.focus();
}

function speak(text) {
  clearTimeout(spoken);
  spoken = setTimeout(() => {
    $("spoken").textContent = text;
  }, 700);
}

// ---- a file of rounds

const largestFile = 200_000; // characters; less than a question may have, with room for escapes

// take reads a file that was chosen or dropped, and asks what its rounds cost.
async function take(file) {
  if (!file) return;
  const text = file.size > largestFile ? null : await file.text();
  rounds = { name: file.name, size: file.size, text };
  choose("file");
  $("answer-title").focus();
}

async function fileAnswer(own) {
  lanes?.slow.stop();
  const { request, wrong } = requestOf(state);
  markWrong(wrong);
  if (!lanes) return;
  hide("conditions", "tighter", "frontier", "tradeoff", "code");
  if (wrong.delta) return failed({ kind: "wrong", problems: [`δ ${wrong.delta}.`] });
  if (!rounds) {
    failed(null);
    return;
  }
  if (rounds.text === null)
    return failed({
      kind: "wrong",
      problems: [
        `${rounds.name} has ${count(rounds.size)} bytes, and the page reads at most ${count(largestFile)}. ` +
          "The command proactivedp account --events reads larger files.",
      ],
    });
  stale(true, ...cards);
  const a = await lanes.slow.ask({ account: { file: rounds.text, delta: request.delta } });
  if (a === superseded || own !== asked) return;
  if (a.error) return failed({ ...a.error, problems: a.error.problems.map((p) => `${rounds.name}: ${p.replace(/^file: /, "")}`) });
  current = null;
  stale(false, ...cards);
  $("answer").classList.remove("bad");
  const best = bestOf(a.account);
  show("answer-body", fileView(rounds.name, best));
  speak($("answer-body").querySelector(".sentence").textContent);
  $("brief").textContent = `ε ${relation(best.kind)} ${up(best.epsilon_upper, 4)} at δ = ${up(best.delta, 3)}`;
  unhide("cost", "statement");
  showCosts({ epsilon: null }, a);
  show("statement-body", statementView(best.statement));
  showCompare();
  document.body.dataset.state = "answered";
}

// ---- accuracy and budget, with a server

function accuracyHint() {
  if (!lanes) return; // begin asks again
  lanes.slow.stop();
  if (lanes.propose && !lanes.sets.includes(state.data))
    return failed({ kind: "wrong", problems: [`Public data set ${oneOf(lanes.sets)}.`] });
  current = null;
  stale(false, ...cards);
  hide("cost", "conditions", "tighter", "frontier", "tradeoff", "code", "statement");
  $("answer").classList.remove("bad");
  show(
    "answer-body",
    el(
      "p",
      {},
      "Cheap trainings on a public data set predict which accuracy complete settings reach " +
        "within the budget. Nothing private is trained, " +
        (lanes.propose
          ? "and only the server can do it: choose, and search."
          : "and only proactivedp serve can do it."),
    ),
  );
  showCompare();
  markWrong(requestOf(state).wrong);
  document.body.dataset.state = "answered";
}

async function proposeNow() {
  if (!lanes.sets.includes(state.data)) return accuracyHint();
  const { request, wrong } = requestOf(state);
  markWrong(wrong);
  if (Object.keys(wrong).length) return;
  const own = ++asked;
  const question = {
    data: state.data,
    epsilon: request.epsilon ?? 0,
    target_accuracy: request.target_accuracy ?? 0,
    delta: request.delta ?? 0,
    clients: request.clients ?? 1,
  };
  hide("proposals");
  $("propose").disabled = true;
  const waits = waiting("Settings are tried on the server; this takes some seconds to minutes …");
  show("answer-body", waits, el("p", { class: "quiet", id: "progress" }));
  const polls = setInterval(async () => {
    const line = await fetch("propose").then((r) => r.text(), () => "");
    if (line && $("progress")) $("progress").textContent = line;
  }, 2000);
  const a = await lanes.propose.ask(question);
  clearInterval(polls);
  if ($("propose")) $("propose").disabled = false;
  if (a === superseded || own !== asked) return;
  if (a.error) {
    failed(a.error);
    return;
  }
  const best = a.proposals[0];
  $("answer").classList.remove("bad");
  show(
    "answer-body",
    el(
      "p",
      { class: "sentence" },
      "The best setting is predicted to reach ",
      el("b", {}, `${(best.predicted_accuracy * 100).toFixed(1)} %`),
      ` on ${a.data} (${tenths(best.predicted_low, -1)} to ${tenths(best.predicted_high, 1)} %), with `,
      el("b", {}, `ε ≤ ${up(best.certified.per_record.epsilon_upper, 4)}`),
      ` at δ = ${up(best.delta, 5)} for a record, certified.`,
    ),
  );
  speak($("answer-body").textContent);
  unhide("proposals");
  show(
    "proposals-body",
    proposalsView(a, (p, report) =>
      takeState({
        question: "run",
        n: String(report.records),
        sample_size: String(p.setting.sample_size),
        rounds: String(p.rounds),
        sigma: String(p.setting.sigma),
        delta: String(p.delta),
        clients: String(report.clients),
        shared: report.clients > 1 ? "1" : "",
        method: "pld",
      }),
    ),
  );
}

// ---- the frame

function theme() {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  $("theme").textContent = dark ? "Light" : "Dark";
  return dark;
}

function frame() {
  $("example").replaceChildren(
    el("option", { value: "" }, "Load an example …"),
    ...examples.map(([title], i) => el("option", { value: i }, title)),
  );
  $("example").addEventListener("change", () => {
    const chosen = examples[Number($("example").value)];
    if ($("example").value !== "" && chosen) takeState(chosen[1]);
    $("example").value = "";
  });
  try {
    const saved = localStorage.getItem("proactivedp-theme");
    if (saved) document.documentElement.dataset.theme = saved;
  } catch {
    /* no storage */
  }
  $("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = theme() ? "light" : "dark";
    try {
      localStorage.setItem("proactivedp-theme", document.documentElement.dataset.theme);
    } catch {
      /* no storage */
    }
    theme();
  });
  theme();
  $("copy-link").addEventListener("click", async () => {
    remember();
    $("copy-link").textContent = (await copied(location.href)) ? "Copied" : "Not copied";
    setTimeout(() => {
      $("copy-link").textContent = "Copy link";
    }, 1500);
  });
  for (const link of document.querySelectorAll("a[href='#answer-title']")) {
    link.addEventListener("click", (e) => {
      e.preventDefault();
      $("answer-title").scrollIntoView();
      $("answer-title").focus();
    }); // the address keeps the question
  }
  $("question").addEventListener("submit", (e) => e.preventDefault());
  document.addEventListener("dragover", (e) => e.preventDefault());
  document.addEventListener("drop", (e) => {
    e.preventDefault(); // or the browser would leave the page for the file
    take(e.dataTransfer.files[0]);
  });
  window.addEventListener("hashchange", () => {
    const address = location.hash.slice(1);
    Object.assign(state, stateOf(address));
    kept.splice(
      0,
      kept.length,
      ...keptOf(address).map(
        (a) => kept.find((k) => k.address === a) ?? { address: a, state: stateOf(a), plan: null },
      ),
    );
    buildForm();
    answer();
  });
  let resized = null;
  window.addEventListener("resize", () => {
    clearTimeout(resized);
    resized = setTimeout(() => {
      for (const draw of Object.values(redraws)) draw();
    }, 150);
  });
  const licences = document.getElementById("planner-licences");
  if (licences)
    $("licences").addEventListener("toggle", () => {
      $("licences-text").textContent ||= licences.textContent;
    });
  else hide("licences");
}

async function begin() {
  frame();
  buildForm();
  try {
    lanes = await backend();
  } catch (cause) {
    failed({ kind: "fault", problems: [`This browser does not start the planner: ${cause.message}`] });
    return;
  }
  $("where").textContent = lanes.server ? "Answered by proactivedp on this machine." : "Nothing leaves this page.";
  buildForm();
  showCompare();
  answer();
}

begin();
