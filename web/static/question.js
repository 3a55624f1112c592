// The question: which fields it has, its form, and the address that keeps it.

const fields = {
  n: { label: "Records N", hint: "of one client", low: 100, high: 1e7, whole: true },
  epochs: { label: "Epochs k", hint: "gradient computations over N", low: 0.1, high: 1000 },
  epsilon: { label: "Budget ε", hint: "for a record", low: 0.01, high: 20 },
  sigma: { label: "Noise multiplier σ", hint: "noise over clipping norm", low: 0.3, high: 100 },
  sample_size: { label: "Batch size s", hint: "of a round, on average", low: 1, high: 1e5, whole: true },
  rounds: { label: "Rounds T", hint: "of one client", low: 1, high: 1e6, whole: true },
  target_accuracy: {
    label: "Accuracy",
    hint: "to reach, from 0 to 1",
    low: 0.5,
    high: 0.99,
    linear: true,
    optional: true,
  },
  delta: { label: "δ", hint: "empty: a default by N", low: 1e-12, high: 1e-2, optional: true },
};

const questions = {
  budget: {
    title: "Budget ε → batch, rounds, noise",
    about: "Recommends a batch size and solves for the least noise with which its rounds stay within ε.",
    fields: ["n", "epochs", "epsilon", "delta"],
  },
  batch: {
    title: "Batch and budget → least noise",
    about: "Solves for the least noise with which these rounds stay within ε.",
    fields: ["n", "sample_size", "epochs", "epsilon", "delta"],
    sampling: true,
  },
  both: {
    title: "Budget and noise → largest batch",
    about: "Solves for the largest batch size with which all epochs stay within ε.",
    fields: ["n", "epochs", "epsilon", "sigma", "delta"],
    methods: ["pld", "rdp"],
  },
  run: {
    title: "A run → what it costs",
    about: "Any training with Poisson samples, also with other libraries.",
    fields: ["n", "sample_size", "rounds", "sigma", "delta"],
  },
  file: {
    title: "A file of rounds → what they cost",
    about:
      "The history of an Opacus accountant as JSON, a DpEvent of dp_accounting as Python prints it, or a file of rounds " +
      "as JSON or CSV. You can also drop it on this page.",
    fields: ["delta"],
    file: true,
  },
  accuracy: {
    title: "Accuracy and budget → plan",
    about:
      "Ranks complete settings for a public data set by the accuracy that " +
      "cheap trainings predict: some seconds to minutes.",
    fields: ["epsilon", "target_accuracy", "delta"],
    server: true,
  },
  noise: {
    title: "Noise σ → ε, batch, rounds",
    about: "Only the paper’s theorem ties ε to σ. Solves for its largest batch size.",
    fields: ["n", "epochs", "sigma", "delta"],
    methods: ["closed-form"],
  },
};

const methods = { pld: "certified (pld)", rdp: "Rényi (rdp)", "closed-form": "closed form (theorem)" };

const adjacencies = { "add-or-remove": "one record added or removed", "replace-one": "one record replaced" };

// samplings are how batches are drawn: by Poisson sampling, or by random allocation with a redraw.
const samplings = {
  poisson: "each record joins each batch by chance (Poisson)",
  epoch: "each record picks one batch of each epoch (allocation)",
  once: "each record keeps one batch for all epochs (allocation, once)",
};

// choices are the fields with fixed values, and their names on the page.
const choices = {
  question: { label: "Your question", options: questions },
  method: { label: "Plan by", options: methods },
  adjacency: { label: "Neighbouring data sets", options: adjacencies },
  sampling: { label: "How batches are drawn", options: samplings },
};

const starting = {
  question: "budget",
  n: "60000",
  epochs: "6",
  epsilon: "0.15",
  sigma: "12.2",
  sample_size: "408",
  rounds: "882",
  target_accuracy: "",
  delta: "",
  adjacency: "add-or-remove",
  method: "pld",
  sampling: "poisson",
  clients: "1",
  shared: "",
  theta: "1",
  data: "",
  tab: "proactivedp",
};

const examples = [
  ["The paper: LIBSVM data, σ = 19.3", { question: "noise", n: "10000", epochs: "5", sigma: "19.29962" }],
  [
    "The paper: MNIST, ε = 0.15",
    { question: "budget", n: "60000", epochs: "6", epsilon: "0.15", method: "closed-form" },
  ],
  [
    "50,000 records, ε = 3, δ = 1e-5",
    { question: "budget", n: "50000", epochs: "20", epsilon: "3", delta: "1e-5" },
  ],
  [
    "Batches of 256, ε = 1: which noise?",
    { question: "batch", n: "60000", sample_size: "256", epochs: "15", epsilon: "1", delta: "1e-5" },
  ],
  [
    "Batches of 512 by random allocation",
    { question: "batch", n: "50000", sample_size: "512", epochs: "20", epsilon: "3", delta: "1e-5", sampling: "epoch" },
  ],
  [
    "What did my Opacus run cost?",
    { question: "run", n: "60000", sample_size: "256", rounds: "10000", sigma: "1.1", delta: "1e-5" },
  ],
  [
    "Five clients share their records",
    { question: "budget", n: "8844", epochs: "5", epsilon: "0.25", clients: "5", shared: "1" },
  ],
  [
    "A record may be replaced",
    {
      question: "batch",
      n: "50000",
      sample_size: "500",
      epochs: "10",
      epsilon: "2",
      delta: "1e-6",
      adjacency: "replace-one",
    },
  ],
];

// unknown stands for a question that does not exist; an address may name one.
const unknown = { title: "unknown", about: "There is no such question: choose one.", fields: [] };

// questionOf returns the question of a state.
function questionOf(state) {
  return Object.hasOwn(questions, state.question) ? questions[state.question] : unknown;
}

// fieldsOf returns the fields of the question, with those of several clients.
function fieldsOf(state) {
  const q = questionOf(state);
  if (q.file) return q.fields;
  return [...q.fields, "clients", ...(q.server ? [] : ["theta"])];
}

// oneOf lists what a choice must be.
function oneOf(options) {
  return `must be ${options.join(" or ")}`;
}

// requestOf returns the request, and what is wrong with the fields.
function requestOf(state) {
  const request = {},
    wrong = {};
  for (const name of fieldsOf(state)) {
    const f = fields[name] ?? {},
      text = state[name].trim();
    const optional = f.optional && !questionOf(state).file; // a file need not say N, so δ has no default
    if (text === "" && (optional || name === "clients" || name === "theta")) continue;
    const whole = f.whole || name === "clients",
      v = numberOf(text, whole);
    if (text === "" || Number.isNaN(v))
      wrong[name] =
        text === ""
          ? "is missing"
          : `must be a number, such as 0.05 or 1e-5${text.includes(",") ? "; use a point, not a comma" : ""}`;
    else if (v === 0) wrong[name] = "must be above 0";
    else if (whole && !Number.isSafeInteger(v))
      wrong[name] = "must be a whole number below 2^53";
    else if (!Number.isFinite(v)) wrong[name] = "must be finite";
    else request[name] = v;
  }
  if (!questionOf(state).server && !questionOf(state).file) {
    for (const [name, { options }] of Object.entries(choices))
      if (!Object.hasOwn(options, state[name])) wrong[name] = oneOf(Object.keys(options));
    if (!questionOf(state).sampling && state.sampling !== starting.sampling)
      wrong.sampling = `must be ${starting.sampling} for this question`;
  }
  if (request.clients === 1) delete request.clients;
  if (request.theta === 1) delete request.theta;
  if (state.shared === "1" && request.clients > 1) request.shared = true;
  request.method = state.method;
  if (state.sampling !== starting.sampling) Object.assign(request, { sampling: "allocation", redraw: state.sampling });
  if (state.adjacency !== "add-or-remove") request.adjacency = state.adjacency;
  return { request, wrong };
}

// lawful makes method, adjacency and question compatible, and returns what it changed.
function lawful(state, changed) {
  const q = questionOf(state);
  if (q.methods && !q.methods.includes(state.method) && Object.hasOwn(methods, state.method))
    state.method = q.methods[0];
  if (state.adjacency === "replace-one" && state.method === "closed-form") {
    if (changed === "method") state.adjacency = "add-or-remove";
    else state.method = "pld";
  }
  if (Object.hasOwn(samplings, state.sampling) && state.sampling !== starting.sampling) {
    // allocation is proved by pld for a record that is added or removed
    if (changed === "method" || changed === "adjacency") {
      if (state.method !== "pld" || state.adjacency !== "add-or-remove") state.sampling = starting.sampling;
    } else if (changed === "sampling") Object.assign(state, { method: "pld", adjacency: "add-or-remove" });
  }
}

// addressOf writes a state as the address after #, without defaults. It always has the method, so that
// a link keeps its answer if another method becomes the default.
function addressOf(state) {
  const out = new URLSearchParams();
  const used = new Set(["question", "adjacency", "method", "sampling", "shared", "tab", ...fieldsOf(state)]);
  if (state.question === "accuracy") used.add("data");
  for (const name of used) {
    if (name === "question" || name === "method" || state[name] !== starting[name]) out.set(name, state[name]);
  }
  return out.toString();
}

// longest is the largest length of a field in an address.
const longest = 60;

// stateOf reads an address. Missing fields get their defaults; an unknown choice is kept, and
// requestOf refuses it.
function stateOf(address) {
  const state = { ...starting },
    given = new URLSearchParams(address);
  for (const [name, value] of given) {
    if (Object.hasOwn(starting, name)) state[name] = value.length <= longest ? value : "too long";
  }
  if (state.shared !== "") state.shared = "1"; // the safe side, whatever the value
  lawful(state, "");
  return state;
}

// keptOf returns the kept plans in an address, at most four.
function keptOf(address) {
  return new URLSearchParams(address)
    .getAll("keep")
    .filter((k) => k.length <= longestKept)
    .slice(0, mostKept);
}

const mostKept = 4,
  longestKept = 4000; // more than all fields at their longest
