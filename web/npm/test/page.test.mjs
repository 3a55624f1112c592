// The page in a real browser: against the program's own JSON, for all that read it, by
// keyboard, and with whatever somebody types. make test-page builds and runs.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { beyond, launched, opened as openedIn, violations } from "../browser.mjs";

const program = process.env.PROACTIVEDP_PROGRAM,
  file = process.env.PROACTIVEDP_PAGE;
const randomQuestions = Number(process.env.PROACTIVEDP_RANDOM || 100);
const run = promisify(execFile);
const patient = { timeout: 1_800_000 }; // on a machine with other work: nothing here is measured by its time
let browser, server, served;

before(async () => {
  browser = await launched();
  server = spawn(program, ["serve", "--address", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"] });
  served = await new Promise((resolve, reject) => {
    let text = "";
    server.stdout.on("data", (d) => {
      text += d;
      if (text.includes("\n")) resolve(text.trim());
    });
    server.on("exit", () => reject(new Error("the server ended")));
  });
});

after(async () => {
  await browser?.close();
  if (server && server.exitCode === null) {
    const ended = new Promise((resolve) => server.on("exit", resolve));
    server.kill("SIGINT");
    assert.equal(await ended, 0, "the server's exit status");
  }
});

// opened returns a page that counts errors and foreign requests.
function opened(address, options = {}) {
  return openedIn(browser, address, options, served);
}

// The frontier of a small ε is soon there, also in the browser.
const small = "question=budget&n=10000&epochs=5&epsilon=0.05";

const stages = {
  planned: ["planned", "certified", "answered"],
  certified: ["certified", "answered"],
  answered: ["answered"],
};

// reached waits until the newest question is at a stage, and is not the one before it.
async function reached(page, stage, before = "") {
  const there = ([good, old]) => {
    const { state, asked } = document.body.dataset;
    return asked !== old && good.includes(state);
  };
  await page.waitForFunction(there, [stages[stage], before], patient).catch((cause) => {
    throw new Error(`${page.url()} is not ${stage}: ${cause.message}`);
  });
}

// asks puts a question into the address, as a link does. The page asks it a little later.
async function asks(page, address, stage) {
  const before = await page.evaluate((a) => {
    const { asked } = document.body.dataset;
    location.hash = a;
    return asked;
  }, address);
  await reached(page, stage, before);
}

// rests ends what the page still computes for a question: the slow answers that no test waits for.
async function rests(page) {
  await asks(page, "question=file", "answered");
}

async function values(page) {
  return page.evaluate(() =>
    Object.fromEntries([...document.querySelectorAll("[data-key]")].map((e) => [e.dataset.key, e.dataset.value])),
  );
}

const flagsOf = {
  n: "--n",
  epochs: "--epochs",
  epsilon: "--epsilon",
  sigma: "--sigma",
  sample_size: "--sample-size",
  rounds: "--rounds",
  delta: "--delta",
  adjacency: "--adjacency",
  method: "--method",
  clients: "--clients",
  theta: "--theta",
};

async function command(args) {
  const { stdout } = await run(program, [...args, "--json"], { maxBuffer: 64 << 20 });
  return JSON.parse(stdout);
}

function planArgs(q) {
  const args = ["plan"];
  const asked = { ...(q.question === "noise" ? { method: "closed-form" } : {}), ...q };
  for (const [name, flag] of Object.entries(flagsOf)) if (asked[name] !== undefined) args.push(`${flag}=${asked[name]}`);
  if (q.shared) args.push("--shared");
  if (q.sampling) args.push("--sampling=allocation", `--redraw=${q.sampling}`);
  return args;
}

// near compares numbers to 1e-10, relative; whole numbers must be equal.
function near(got, want, what) {
  if (want === null || want === undefined) {
    assert.equal(got, "", what);
    return;
  }
  const v = Number(got);
  assert.ok(
    got !== "" && (Number.isInteger(want) ? v === want : Math.abs(v - want) <= 1e-10 * Math.abs(want)),
    `${what}: the page has ${got}, the program ${want}`,
  );
}

// cases are 60 questions of every kind. Most go to the server's page, whose answers are the same and
// come sooner; the others show that the planner in the browser has them, too.
function cases() {
  const all = [];
  for (const n of [10_000, 60_000, 1_000_000]) {
    for (const epsilon of [0.05, 0.5, 3, 8]) all.push({ question: "budget", n, epochs: 5, epsilon });
    all.push({ question: "budget", n, epochs: 6, epsilon: 0.15, method: "closed-form" });
    for (const sigma of [3, 19.29962]) all.push({ question: "noise", n, epochs: 7.5, sigma });
    all.push({ question: "run", n, sample_size: n / 250, rounds: 2000, sigma: 1.1, delta: "1e-5" });
    all.push({ question: "run", n, sample_size: n / 50, rounds: 500, sigma: 0.6, delta: "1e-6" });
    all.push({ question: "run", n, sample_size: n / 500, rounds: 900, sigma: 12 });
    all.push({ question: "run", n, sample_size: n / 500, rounds: 900, sigma: 12, method: "closed-form" });
    all.push({ question: "batch", n, sample_size: n / 100, epochs: 10, epsilon: 1 });
    all.push({ question: "batch", n, sample_size: n / 20, epochs: 20, epsilon: 3, delta: "1e-5" });
    all.push({ question: "batch", n, sample_size: n / 500, epochs: 3, epsilon: 0.3 });
    all.push({ question: "batch", n, sample_size: n / 500, epochs: 3, epsilon: 0.3, method: "closed-form" });
    all.push({ question: "both", n, epochs: 10, epsilon: 2, sigma: 1.2, method: "rdp" });
    all.push({ question: "both", n, epochs: 4, epsilon: 0.7, sigma: 2, delta: "1e-7" });
  }
  all.push({
    question: "batch",
    n: 50_000,
    sample_size: 500,
    epochs: 10,
    epsilon: 2,
    delta: "1e-6",
    adjacency: "replace-one",
  });
  all.push({
    question: "run",
    n: 50_000,
    sample_size: 250,
    rounds: 100,
    sigma: 2,
    adjacency: "replace-one",
    method: "rdp",
  });
  all.push({ question: "run", n: 60_000, sample_size: 256, rounds: 10_000, sigma: 1.1, delta: "1e-5" });
  all.push({ question: "budget", n: 8844, epochs: 5, epsilon: 0.25, clients: 5, shared: "1" });
  all.push({ question: "budget", n: 10_000, epochs: 5, epsilon: 0.5, clients: 3 });
  all.push({ question: "budget", n: 50_000, epochs: 20, epsilon: 3, delta: "1e-5", adjacency: "replace-one" });
  all.push({ question: "batch", n: 10_000, sample_size: 500, epochs: 2, epsilon: 1, delta: "1e-5", sampling: "epoch" });
  all.push({ question: "batch", n: 10_000, sample_size: 500, epochs: 2, epsilon: 1, delta: "1e-5", sampling: "once" });
  all.push({ question: "noise", n: 20_000, epochs: 5, sigma: 10, theta: 2 });
  all.push({ question: "budget", n: 1000, epochs: 20, epsilon: 0.01, method: "closed-form" });
  all.push({ question: "noise", n: 10_000, epochs: 5, sigma: 90_000 });
  return all;
}

const pick = (o, ...path) => path.reduce((v, key) => v?.[key], o);

// compares holds what the page shows against the program's JSON: at the stage "planned" the answer,
// at "certified" also what the tight accountant allows, and at "answered" also the frontier. Before
// that, the page then rests.
async function compares(page, q, stage) {
  const name = JSON.stringify(q),
    whole = stage === "answered",
    asked = command([...planArgs(q), ...(whole ? ["--points=25"] : [])]);
  await asks(page, new URLSearchParams(q).toString(), stage);
  const shown = await values(page);
  if (!whole) await rests(page);
  const plan = await asked;
  assert.equal(
    shown.verdict.replace(/\(certified by pld\), /, ""),
    plan.verdict.replace(/\(certified by pld\), /, ""),
    `${name}: verdict`,
  );
  let checked = 1;
  if (!plan.feasible) {
    assert.equal(shown.reason, plan.reason, `${name}: reason`);
    return checked + 1;
  }
  for (const [key, want] of Object.entries({
    epsilon: plan.epsilon,
    sigma: plan.sigma,
    sample_size: plan.run.sample_size,
    rounds: plan.run.rounds,
    sample_rate: plan.run.sample_rate,
    ...(plan.run.batches ? { batches: plan.run.batches } : { grad_computations: plan.run.grad_computations }),
    ...(plan.signal ? { signal: plan.signal } : {}),
    ...(plan.recommended && (stage !== "planned" || q.question === "budget")
      ? { recommended: plan.recommended.sample_size }
      : {}),
    ...(plan.closed_form ? { theorem: plan.closed_form.sigma ?? plan.closed_form.epsilon_upper } : {}),
  })) {
    near(shown[key], want, `${name}: ${key}`);
    checked++;
  }
  if (plan.gamma) {
    near(shown.gamma, plan.gamma, `${name}: gamma`);
    checked++;
  }
  const side = plan.adjacency === "replace-one" ? "replace_one" : "add_or_remove";
  if (plan.method !== "pld" && stage !== "planned") {
    near(shown.certified, pick(plan, "tight", side, "run", "epsilon_upper"), `${name}: certified`);
    checked++;
  }
  for (const c of plan.conditions) {
    near(shown[`condition.${c.theorem}.${c.name}`], c.margin, `${name}: ${c.name}`);
    checked++;
  }
  assert.equal(shown.statement, plan.statement, `${name}: statement`);
  if (stage === "planned") return checked + 1;
  const event = plan.releases[0].events[0];
  const accounts = await command([
    "account",
    `--sigma=${event.noise_multiplier}`,
    ...(plan.run.batches
      ? ["--sampling=allocation", `--batches=${plan.run.batches}`, `--redraw=${event.redraw}`]
      : [`--sample-size=${event.sample_size}`, `--n=${event.dataset_size}`]),
    `--steps=${event.count}`,
    `--delta=${plan.delta}`,
    `--adjacency=${event.adjacency}`,
  ]);
  for (const a of accounts) {
    near(shown[`account.${a.accountant}`], a.epsilon_upper ?? a.epsilon, `${name}: ${a.accountant}`);
    checked++;
  }
  if (whole) {
    for (const [i, r] of plan.frontier.rows.entries()) {
      const got = shown[`frontier.${i}`].split(" ");
      for (const [j, key] of [
        "sample_size",
        "rounds",
        "sigma_closed_form",
        "sigma_add_or_remove",
        "sigma_replace_one",
        "signal",
        "grad_computations",
      ].entries()) {
        near(got[j], r[key], `${name}: frontier row ${i}, ${key}`);
        checked++;
      }
    }
  }
  return checked;
}

test("the page says what the program says", patient, async () => {
  const own = await opened(`file://${file}`),
    page = await opened(served);
  await reached(own, "planned");
  await reached(page, "planned");
  const all = cases();
  let checked = 0,
    inBrowser = 0;
  for (const [i, q] of all.entries()) {
    const whole = q.question === "budget" && q.epsilon === 0.05; // whose frontier is soon there
    checked += await compares(page, q, whole ? "answered" : q.method || q.question === "noise" || i % 6 === 1 ? "certified" : "planned");
    if (i % 6 === 0) {
      checked += await compares(own, q, q.method || q.question === "noise" ? "certified" : "planned");
      inBrowser++;
    }
  }
  assert.deepEqual([...page.faults, ...own.faults], []);
  console.log(`${all.length} questions, ${inBrowser} also computed in the browser: ${checked} numbers and texts`);
  assert.ok(all.length >= 60 && checked >= 600, `${all.length} questions, ${checked} numbers`);
  await page.close();
  await own.close();
});

test("batches may be drawn by random allocation", patient, async () => {
  const q = { question: "batch", n: 10_000, sample_size: 500, epochs: 2, epsilon: 1, delta: "1e-5", sampling: "epoch" };
  const page = await opened(`file://${file}`);
  await reached(page, "planned");
  await compares(page, q, "planned");
  await asks(page, new URLSearchParams(q).toString(), "planned");
  assert.match(await page.textContent("#answer-body .sentence"), /40 rounds in epochs of 20 batches, of which each record picks one/);
  // Another adjacency is not covered, and Poisson sampling is. Allocation brings its own method back.
  await page.selectOption("#field-adjacency", "replace-one");
  assert.equal(await page.inputValue("#field-sampling"), "poisson");
  await page.selectOption("#field-sampling", "once");
  assert.equal(await page.inputValue("#field-adjacency"), "add-or-remove");
  await reached(page, "planned");
  assert.match(page.url(), /sampling=once/);
  await asks(page, "question=budget&n=10000&epochs=2&epsilon=1&sampling=epoch", "answered");
  assert.match(await page.textContent("#answer-body"), /How batches are drawn must be poisson for this question/);
  assert.deepEqual(page.faults, []);
  await page.close();
});

// The browser reports a new address a little later. A late answer that wrote the address of its own
// question in between would undo the new one: the page would ask the old question again.
test("an answer does not change the address", patient, async () => {
  const page = await opened(`${served}#question=budget&n=10000&epochs=5&epsilon=0.5`);
  await reached(page, "planned");
  await page.evaluate(() => {
    window.written = 0;
    const replace = history.replaceState;
    history.replaceState = function (...args) {
      window.written++;
      return replace.apply(this, args);
    };
  });
  await asks(page, "question=batch&n=10000&sample_size=20&epochs=3&epsilon=0.3&tab=opacus", "certified");
  assert.equal(await page.evaluate(() => window.written), 0);
  assert.equal(await page.getAttribute("#tab-opacus", "aria-selected"), "true");
  await page.click("#tab-proactivedp");
  assert.doesNotMatch(page.url(), /tab=/);
  assert.deepEqual(page.faults, []);
  await page.close();
});

test("axe finds nothing in light, dark, on a phone, in error and in comparison", patient, async () => {
  const kept = encodeURIComponent("question=run&n=60000&sample_size=256&rounds=1000&sigma=1.1&delta=1e-5&method=pld");
  const views = [
    ["light", `file://${file}#${small}`, {}],
    ["dark", `file://${file}#${small}`, { colorScheme: "dark" }],
    ["phone", `file://${file}#${small}`, { viewport: { width: 390, height: 844 }, isMobile: true }],
    ["infeasible, dark", `file://${file}#question=budget&n=1000&epochs=20&epsilon=0.01&method=closed-form`, { colorScheme: "dark" }],
    ["wrong", `file://${file}#question=budget&n=abc&epochs=0&epsilon=-3`, {}],
    [
      "compared",
      `file://${file}#question=both&n=10000&epochs=5&epsilon=0.05&sigma=100&method=pld&keep=${kept}&keep=${kept}`,
      {},
    ],
    ["served, accuracy", `${served}#question=accuracy`, {}],
  ];
  for (const [name, address, options] of views) {
    const page = await opened(address, { bypassCSP: true, ...options });
    await reached(page, "answered");
    assert.deepEqual(await violations(page), [], name);
    assert.deepEqual(page.faults, [], name);
    const wide = await beyond(page);
    assert.ok(wide <= 0, `${name}: the page is ${wide} pixels wider than the window`);
    await page.close();
  }
  console.log(`${views.length} views without a violation`);
});

test("everything is done by keyboard", patient, async () => {
  const page = await opened(`file://${file}#${small}`);
  await reached(page, "answered");
  const places = await page.evaluate(() => {
    const list = [
      ...document.querySelectorAll("a[href], button, select, input, summary, pre[tabindex], [tabindex='0']"),
    ].filter((e) => !e.disabled && e.tabIndex >= 0 && e.checkVisibility() && !(e.type === "radio" && !e.checked));
    list.forEach((e, i) => {
      e.dataset.place = i;
    });
    return list.length;
  });
  const seen = new Set();
  for (let i = 0; i < places + 10; i++) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => document.activeElement?.dataset.place ?? "");
    if (at !== "") seen.add(at);
  }
  console.log(`${seen.size} of ${places} places are reached by Tab`);
  assert.equal(seen.size, places);
  assert.ok(places >= 25, `${places} places`);
  await page.focus("#frontier-walk");
  const before = await page.textContent("#frontier-said");
  await page.keyboard.press("ArrowRight");
  assert.notEqual(await page.textContent("#frontier-said"), before, "the frontier is walked by an arrow");
  await page.focus("#tab-proactivedp");
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.getAttribute("#tab-opacus", "aria-selected"), "true");
  assert.match(await page.textContent("#code-panel"), /NOISE_MULTIPLIER/);
  await page.focus("input[name=question][value=budget]");
  await page.keyboard.press("ArrowDown");
  await reached(page, "certified");
  assert.match(page.url(), /question=batch/);
  const asked = await page.evaluate(() => document.body.dataset.asked);
  await page.fill("#field-sample_size", "250");
  await reached(page, "certified", asked);
  assert.match(await page.textContent(".sentence"), /250 records/);
  await page.click("text=Keep this plan");
  assert.match(page.url(), /keep=/);
  await page.selectOption("#example", { index: 4 });
  await page.reload();
  await reached(page, "certified");
  assert.match(page.url(), /sample_size=256.*keep=/);
  await page.focus("#theme");
  await page.keyboard.press("Enter");
  assert.equal(await page.getAttribute("html", "data-theme"), "dark");
  assert.deepEqual(page.faults, []);
  await page.close();
});

test("a phone's keyboard has what is typed into a field", patient, async () => {
  const page = await opened(`${served}#question=batch&n=10000&sample_size=31&epochs=5&epsilon=0.5&clients=2`);
  await reached(page, "planned");
  const keys = await page.$$eval("#question input[type=text]", (all) => all.map((e) => [e.id, e.inputMode]));
  assert.deepEqual(Object.fromEntries(keys.map(([id, mode]) => [id.slice("field-".length), mode])), {
    n: "numeric",
    sample_size: "numeric",
    epochs: "text",
    epsilon: "text",
    delta: "text",
    clients: "numeric",
    theta: "text",
  });
  await page.close();
});

test("a choice that changes another keeps the focus", patient, async () => {
  const page = await opened(`${served}#question=budget&n=10000&epochs=5&epsilon=0.5`);
  await reached(page, "planned");
  for (const [field, choice, other] of [
    ["#field-adjacency", "replace-one", "pld"],
    ["#field-method", "closed-form", "add-or-remove"],
  ]) {
    await page.focus(field);
    await page.selectOption(field, choice);
    const values = await page.$$eval("#question select", (all) => all.map((e) => e.value));
    assert.ok(values.includes(choice) && values.includes(other), `${choice} goes with ${other}: ${values}`);
    assert.equal(await page.evaluate(() => `#${document.activeElement.id}`), field);
  }
  assert.deepEqual(page.faults, []);
  await page.close();
});

// Another adjacency would be another claim, and a usual one in its place a smaller ε.
test("a choice that there is not is refused, not guessed", patient, async () => {
  const page = await opened(`${served}#question=batch&n=60000&sample_size=256&epochs=15&epsilon=1&method=pld`);
  await reached(page, "planned");
  await asks(page, "question=budget&adjacency=replace_one&method=PLD", "answered");
  assert.match(await page.textContent("#answer-body"), /Neighbouring data sets must be add-or-remove or replace-one/);
  assert.match(await page.textContent("#answer-body"), /Plan by must be pld or rdp or closed-form/);
  const values = () => page.$$eval("#question select", (all) => all.map((e) => e.value));
  assert.deepEqual(await values(), ["", ""]);
  await page.selectOption("#field-method", "pld");
  await page.selectOption("#field-adjacency", "replace-one");
  await reached(page, "planned");
  assert.deepEqual(await values(), ["replace-one", "pld"]);
  assert.match(await page.textContent("#statement"), /replace-one/);
  await asks(page, "question=noise2&n=1000&sigma=9", "answered");
  assert.match(await page.textContent("#answer-body"), /Your question must be budget or batch or both/);
  assert.equal(await page.$("#question input:checked"), null);
  await page.check("#question [value=noise]");
  await reached(page, "planned");
  assert.deepEqual(
    await page.$$eval("#field-n, #field-sigma", (all) => all.map((e) => e.value)),
    ["1000", "9"],
  );
  assert.deepEqual(page.faults, []);
  await page.close();
});

// Of a kept plan, too: it is not that of an empty δ, which is the default.
test("a kept plan of what is no number has no answer", patient, async () => {
  const keep = encodeURIComponent(`${small}&delta=x`);
  const page = await opened(`${served}#${small}&keep=${keep}`);
  await reached(page, "answered");
  assert.match(await page.textContent("#compare-body"), /no answer/);
  assert.deepEqual(page.faults, []);
  await page.close();
});

test("a file of rounds is answered, chosen or dropped", patient, async () => {
  const folder = mkdtempSync(join(tmpdir(), "rounds-"));
  const files = {
    "history.json": '{"history": [[1.1, 0.004, 10000]], "mechanism": "rdp"}',
    "event.txt":
      "SelfComposedDpEvent(event=PoissonSampledDpEvent(sampling_probability=0.004, " +
      "event=GaussianDpEvent(noise_multiplier=1.1)), count=10000)",
    "rounds.csv": "sigma,sample_rate,steps\n1.1,0.004,9000\n1.1,0.004,1000\n",
  };
  const page = await opened(`file://${file}#question=file&delta=1e-5`, { bypassCSP: true });
  await reached(page, "answered");
  assert.match(await page.textContent("#answer-body"), /Choose a file of rounds/);
  const drop = (name, text) =>
    page.evaluate(
      ([name, text]) => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File([text], name));
        document.body.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer }));
      },
      [name, text],
    );
  for (const [i, [name, text]] of Object.entries(files).entries()) {
    const path = join(folder, name);
    writeFileSync(path, text);
    const before = await page.evaluate(() => document.body.dataset.asked);
    if (i === 0) await page.setInputFiles("#field-file", path);
    else await drop(name, text);
    await reached(page, "answered", before);
    const want = (await command(["account", "--events", path, "--delta=1e-5"]))[0];
    const shown = await values(page);
    near(shown.file, want.epsilon_upper, name);
    assert.equal(shown.statement, want.statement, name);
    assert.match(await page.textContent(".sentence"), new RegExp(name));
  }
  for (const [name, text, says] of [
    ["model.txt", "weights", /model.txt: no events/],
    ["large.json", "x".repeat(300_000), /300,000 bytes.*account --events reads larger/],
  ]) {
    const before = await page.evaluate(() => document.body.dataset.asked);
    await drop(name, text);
    await reached(page, "answered", before);
    assert.match(await page.textContent("#answer-body"), says);
  }
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(page.faults, []);
  await page.close();
  rmSync(folder, { recursive: true });
});

test("a first click on accuracy and budget is no error", patient, async () => {
  const page = await opened(served);
  await reached(page, "planned");
  await page.check("#question [value=accuracy]");
  await reached(page, "answered");
  assert.match(await page.textContent("#answer-body"), /choose, and search/);
  assert.equal(await page.$("#answer.bad"), null);
  assert.deepEqual(page.faults, []);
  await page.close();
});

test("a public data set that there is not is not taken for another", patient, async () => {
  const page = await opened(`${served}#question=accuracy&data=mushroom`);
  await reached(page, "answered");
  assert.equal(await page.inputValue("#field-data"), "");
  await page.waitForSelector("#propose:not(:disabled)");
  const refused = () => page.textContent("#answer-body li");
  assert.match(await refused(), /Public data set must be .*mushrooms/);
  await page.click("#propose");
  assert.match(await refused(), /Public data set must be .*mushrooms/);
  await page.selectOption("#field-data", "mushrooms");
  await reached(page, "answered");
  assert.doesNotMatch(await page.textContent("#answer-body"), /must be/);
  assert.deepEqual(page.faults, []);
  await page.close();
});

test("what is shown anew keeps the focus", patient, async () => {
  const page = await opened(`${served}#${small}`);
  await reached(page, "answered");
  const active = () => page.evaluate(() => document.activeElement.id || document.activeElement.textContent);
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route("**/answer", async (route) => {
    if (route.request().postDataJSON().plan?.tight) await held;
    await route.continue().catch(() => {}); // it may have been given up
  });
  await page.fill("#field-epsilon", "0.04");
  await reached(page, "planned");
  await page.focus("#tab-opacus");
  await page.keyboard.press("Enter");
  release();
  await reached(page, "certified");
  assert.equal(await active(), "tab-opacus");
  await reached(page, "answered");
  const keep = page.locator("#compare-body .actions button");
  await keep.focus();
  for (let kept = 1; kept <= 4; kept++) {
    await page.keyboard.press("Enter");
    assert.equal(await active(), kept < 4 ? "Keep this plan" : "Load A");
  }
  await page.getByRole("button", { name: "Remove A" }).focus();
  for (let left = 3; left >= 0; left--) {
    await page.keyboard.press("Enter");
    assert.equal(await active(), left > 0 ? "Remove A" : "Keep this plan");
  }
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Load A" }).focus();
  await page.keyboard.press("Enter");
  assert.equal(await active(), "answer-title");
  assert.deepEqual(page.faults, []);
  await page.close();
});

test("a row of the frontier is walked to and chosen, by keyboard and by pointer", patient, async () => {
  const page = await opened(`file://${file}#${small}`);
  await reached(page, "answered");
  const said = () => page.textContent("#frontier-said");
  const sizes = await page.evaluate(() =>
    [...document.querySelectorAll("[data-key^='frontier.']")].map((e) => e.dataset.value.split(" ")[0]),
  );
  assert.ok(sizes.length >= 20, `${sizes.length} rows`);
  // chosen is what the question says after a row was chosen.
  const chosen = async (choose, want) => {
    const before = await page.evaluate(() => document.body.dataset.asked);
    await choose();
    await reached(page, "answered", before);
    const state = Object.fromEntries(new URLSearchParams(new URL(page.url()).hash.slice(1)));
    assert.deepEqual([state.question, state.method, state.sample_size, state.epsilon], ["batch", "pld", want, "0.05"]);
    assert.equal(await page.inputValue("#field-sample_size"), want);
    assert.equal((await values(page)).sample_size, want);
    await asks(page, small, "answered");
  };
  // By keyboard: from the folded numbers, with arrows, Home and End.
  await page.focus("#frontier-numbers summary");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Home");
  assert.match(await said(), new RegExp(`^s = ${Number(sizes[0]).toLocaleString("en")},`));
  assert.match(await said(), /closed form, add or remove; .* certified, add or remove; .* certified, replace one/);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  assert.match(await said(), new RegExp(`^s = ${Number(sizes[1]).toLocaleString("en")},`));
  assert.equal(await page.inputValue("#frontier-walk"), "1");
  await chosen(() => page.keyboard.press("Enter"), sizes[1]);
  // By the slider, by a click on a row, and by one into the chart.
  await page.focus("#frontier-walk");
  await page.keyboard.press("End");
  await chosen(() => page.keyboard.press("Enter"), sizes.at(-1));
  await page.click("#frontier-numbers summary");
  await chosen(() => page.click("[data-key='frontier.3'] td:nth-child(4)"), sizes[3]);
  const chart = page.locator("#frontier-body svg").first();
  await chart.scrollIntoViewIfNeeded();
  const box = await chart.boundingBox();
  await page.mouse.click(box.x + 60, box.y + box.height / 2);
  assert.match(await said(), new RegExp(`^s = ${Number(sizes[0]).toLocaleString("en")},`));
  await chosen(() => page.click("text=Plan this point"), sizes[0]);
  assert.deepEqual(page.faults, []);
  await page.close();
});

test("remedies are one click", patient, async () => {
  const page = await opened(`file://${file}#question=budget&n=1000&epochs=20&epsilon=0.01&method=closed-form`);
  await reached(page, "planned");
  assert.ok(await page.$("#answer.bad"));
  await page.click("#answer .actions button");
  await page.waitForFunction(() => !document.querySelector("#answer.bad"));
  await reached(page, "certified");
  assert.match(await page.textContent(".sentence"), /Run/);
  await page.click("#tighter-body button");
  await reached(page, "certified");
  assert.match(page.url(), /question=run/);
  assert.deepEqual(page.faults, []);
  await page.close();
});

test("what is said holds while answers are late or fail", patient, async () => {
  const asking = `${served}#${small}&method=closed-form`;
  const page = await opened(asking);
  await reached(page, "answered");
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route("**/answer", async (route) => {
    if (route.request().postDataJSON().plan?.tight) await held;
    await route.continue().catch(() => {}); // it may have been given up
  });
  await page.fill("#field-epsilon", "0.04");
  await reached(page, "planned");
  await page.click("text=Keep this plan");
  release();
  await reached(page, "answered");
  assert.equal(await page.$("#frontier-body .spin, #tradeoff-body .spin"), null, "what is under way comes to its end");
  await page.waitForFunction(() => document.querySelector('[data-key="compare.0.1"]')?.dataset.value > 0);

  await page.unroute("**/answer");
  await page.route("**/answer", (route) =>
    route.request().postDataJSON().plan?.tight
      ? route.fulfill({ json: { error: { kind: "ended", problems: ["it took too long"] } } })
      : route.continue(),
  );
  await page.fill("#field-epsilon", "0.03");
  await reached(page, "answered");
  assert.match(await page.textContent('[data-key="certified"]'), /none.*no answer/);
  await page.click("text=Keep this plan");
  await page.waitForFunction(() =>
    /no answer/.test(document.querySelector('[data-key="compare.1.0"]')?.textContent ?? ""),
  );
  assert.deepEqual(page.faults, []);
  await page.close();
});

test("an answer of the question before is marked, and not kept for this one", patient, async () => {
  const page = await opened(`${served}#question=run&n=10000&sample_size=31&rounds=1612&sigma=19.3&method=pld`);
  await reached(page, "answered");
  const marked = () => page.$$eval(".stale", (all) => all.map((e) => e.id).join(" "));
  const certified = async () => Number((await values(page)).epsilon);
  const before = await certified();
  assert.equal(await marked(), "");
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route("**/answer", async (route) => {
    await held;
    await route.continue().catch(() => {}); // it may have been given up
  });
  await page.fill("#field-sigma", "9.65");
  await page.waitForSelector("#answer.stale[aria-busy=true]");
  assert.equal(await marked(), "answer cost conditions tighter code statement");
  assert.equal(await certified(), before, "what stands there is of the question before");
  await page.click("text=Keep this plan");
  assert.equal((await values(page))["compare.0.0"], "", "it is kept for the question that is asked");
  release();
  await reached(page, "answered");
  assert.equal(await marked(), "");
  await page.waitForFunction(() => document.querySelector('[data-key="compare.0.0"]')?.dataset.value > 0);
  const after = await certified();
  assert.ok(after > 1.5 * before);
  assert.equal(Number((await values(page))["compare.0.0"]), after);
  assert.deepEqual(page.faults, []);
  await page.close();
});

test("a link to what only the server does opens without it", patient, async () => {
  const page = await opened(`file://${file}#question=accuracy`);
  await reached(page, "answered");
  assert.ok(await page.isDisabled("#propose"));
  await page.evaluate(() => document.getElementById("propose").click());
  assert.match(await page.textContent("#answer-body"), /only proactivedp serve/);
  await asks(page, "question=run", "planned");
  assert.deepEqual(page.faults, []);
  await page.close();
});

test("what is proposed is for the question that stands there", patient, async () => {
  const page = await opened(`${served}#question=accuracy&data=mushrooms`);
  await reached(page, "answered");
  assert.equal(await page.inputValue("#field-data"), "mushrooms");
  const asked = [];
  const report = {
    data: "phishing",
    records: 8844,
    clients: 3,
    target_epsilon: 0.2,
    delta: 1e-5,
    adjacency: "add-or-remove",
    sampling: "poisson",
    confidence: 0.9,
    data_note: "NOT covered by (ε, δ): the split",
    probe: { statement: "proxies used phishing itself" },
    proposals: [
      {
        rank: 1,
        predicted_accuracy: 0.9,
        predicted_low: 0.88,
        predicted_high: 0.92,
        certified: { per_record: { epsilon_upper: 0.1999, accountant: "pld" } },
        setting: { sigma: 7.5, sample_size: "100", clip: 1, eta0: 0.1, schedule: "zero", average: "tail:0.3" },
        rounds: 50,
        gradients: 15000,
        delta: 1e-5,
      },
    ],
  };
  await page.route("**/propose", (route) => {
    asked.push(route.request().postDataJSON());
    return route.fulfill({ json: report });
  });
  await page.fill("#field-clients", "2.5");
  await page.click("#propose");
  assert.match(await page.textContent("#field-clients-wrong"), /whole number/);
  assert.deepEqual(asked, [], "a search with other clients than those that were typed");
  await page.fill("#field-clients", "3");
  await page.click("#propose");
  await page.waitForSelector("#proposals:not([hidden])");
  assert.equal(asked[0].clients, 3);
  assert.match(await page.textContent("#answer-body"), /ε ≤ 0.1999 at δ = 1e-5 for a record, certified/);
  const said = await page.textContent("#proposals-body");
  for (const what of [
    "within ε ≤ 0.2 per record at δ = 1e-5, add-or-remove adjacency, poisson sampling: upper bounds, by pld",
    "nominal 90 %",
    "used phishing itself",
    "NOT covered by (ε, δ): the split",
    "η₀(1−t/K) tail:0.3",
  ])
    assert.ok(said.includes(what), `${what}: not in ${said}`);
  await page.fill("#field-epsilon", "0.05");
  await page.waitForSelector("#proposals", { state: "hidden" });
  assert.deepEqual(page.faults, []);
  await page.close();
});

// A generator of its own, so that a failure can be had again: xorshift, seed 1.
function drawer(seed) {
  let x = seed;
  return () => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return (x >>> 0) / 2 ** 32;
  };
}

test("no question blanks the page", patient, async () => {
  const draw = drawer(1),
    choose = (list) => list[Math.floor(draw() * list.length)];
  const page = await opened(`file://${file}`);
  await reached(page, "planned");
  const number = () =>
    choose([
      () => String(10 ** (draw() * 12 - 6)),
      () => String(Math.round(10 ** (draw() * 8))),
      () =>
        choose([
          "0",
          "-1",
          "",
          "x",
          "1e999",
          "1e-400",
          "NaN",
          "9007199254740993",
          "0x10",
          "1,000",
          "<b>",
          "½",
          "1e5",
        ]),
    ])();
  let answered = 0;
  for (let i = 0; i < randomQuestions; i++) {
    const q = {
      question: choose(["budget", "noise", "both", "run", "batch", "accuracy", "none"]),
      adjacency: choose(["add-or-remove", "replace-one", "x"]),
      method: choose(["closed-form", "pld", "rdp", "paper"]),
      n: choose(["100", "5000", "60000", "1e6", number()]),
    };
    for (const name of ["epochs", "epsilon", "sigma", "sample_size", "rounds", "delta", "clients", "theta"])
      if (draw() < 0.4) q[name] = number();
    await asks(page, new URLSearchParams(q).toString(), "planned");
    const text = await page.textContent("#answer-body");
    assert.ok(
      text.trim().length > 10 && !/undefined|NaN|\[object/.test(text),
      `question ${i}, ${JSON.stringify(q)}: the page shows ${text}`,
    );
    if (await page.$("[data-key=epsilon]")) answered++;
  }
  assert.deepEqual(page.faults, []);
  console.log(`${randomQuestions} random questions, ${answered} with a plan, none blanked the page`);
  assert.ok(answered >= randomQuestions / 25);
  await page.close();
});

test("it is small and follows a slider", patient, async () => {
  const compressed = gzipSync(readFileSync(file), { level: 9 }).length;
  assert.ok(compressed <= 1_670_000, `${compressed} bytes compressed, at most 1.67 MB may be`);
  const page = await opened(`file://${file}#question=batch&n=50000&sample_size=512&epochs=20&epsilon=3&delta=1e-5`);
  await reached(page, "certified");
  // The CPU time of all processes of the browser, in ms, because other work may run beside the tests.
  const session = await browser.newBrowserCDPSession();
  const used = async () => {
    const { processInfo } = await session.send("SystemInfo.getProcessInfo");
    return 1000 * processInfo.reduce((sum, p) => sum + p.cpuTime, 0);
  };
  const moves = 20;
  const before = await used();
  await page.evaluate(async (moves) => {
    const slider = document.querySelector("[data-field=epsilon] input[type=range]");
    const shown = () => document.querySelector("[data-key=epsilon]").dataset.value;
    for (let i = 0; i < moves; i++) {
      const old = shown();
      slider.value = 300 + 20 * i;
      slider.dispatchEvent(new Event("input", { bubbles: true }));
      while (shown() === old) await new Promise((r) => setTimeout(r, 5));
    }
  }, moves);
  const each = ((await used()) - before) / moves;
  console.log(
    `${statSync(file).size} bytes, ${compressed} compressed; ${each.toFixed(0)} ms of CPU from a move of a slider to ` +
      `its first number, on average of ${moves}`,
  );
  // The aim is 100 ms. A loaded processor counts up to twice the time for the same work.
  assert.ok(each < 300, `${each} ms of CPU`);
  await reached(page, "certified");
  assert.deepEqual(page.faults, []);
  await page.close();
});
