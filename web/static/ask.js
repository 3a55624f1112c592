// Questions are sent in lanes. A new question in a lane cancels the one before.

const superseded = Symbol("superseded");

// workerLane asks the planner in a separate worker. A lane that restarts ends the worker for a
// new question; other lanes wait for the answer, which is quick.
function workerLane(start, restarts) {
  let worker = null,
    pending = null,
    queued = null;
  const finish = (value) => {
    const p = pending;
    pending = null;
    if (p) p.resolve(value);
  };
  function launch() {
    worker = start();
    worker.onmessage = ({ data }) => {
      if (data.ready) return;
      const answer = JSON.parse(data.answer);
      if (answer.error?.kind === "fault") {
        worker.terminate();
        worker = null;
      } // the worker may have ended
      finish(answer);
      next();
    };
    worker.onerror = (event) => {
      event.preventDefault?.();
      worker.terminate();
      worker = null;
      finish({ error: { kind: "fault", problems: [`the planner stopped: ${event.message || "its worker ended"}`] } });
      next();
    };
  }
  function next() {
    if (!queued || pending) return;
    if (!worker) launch();
    pending = queued;
    queued = null;
    worker.postMessage(pending.question);
  }
  return {
    ask(question) {
      return new Promise((resolve) => {
        if (queued) queued.resolve(superseded);
        queued = { question: JSON.stringify(question), resolve };
        if (pending && restarts) {
          worker.terminate();
          worker = null;
          finish(superseded);
        }
        next();
      });
    },
    stop() {
      if (queued) {
        queued.resolve(superseded);
        queued = null;
      }
      if (pending && restarts) {
        worker.terminate();
        worker = null;
        finish(superseded);
      }
    },
  };
}

// serverLane asks the server of the page.
function serverLane(path) {
  let controller = null;
  return {
    async ask(question) {
      controller?.abort();
      const own = (controller = new AbortController());
      try {
        const reply = await fetch(path, {
          method: "POST",
          body: JSON.stringify(question),
          signal: own.signal,
          headers: { "Content-Type": "application/json" },
        });
        const text = await reply.text();
        if (own.signal.aborted) return superseded;
        try {
          return JSON.parse(text);
        } catch {
          /* told below */
        }
        return { error: { kind: "fault", problems: [`the server answers ${reply.status}: ${text.slice(0, 200)}`] } };
      } catch (cause) {
        if (own.signal.aborted) return superseded;
        return { error: { kind: "fault", problems: [`the server does not answer: ${cause.message}`] } };
      }
    },
    stop() {
      controller?.abort();
    },
  };
}

// unpacked returns data that the page has as base64 of gzip.
async function unpacked(id) {
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

// backend returns the lanes of this page: "quick" for sliders, "slow" for long questions.
async function backend() {
  if (!document.getElementById("planner-wasm")) {
    return {
      server: true,
      quick: serverLane("answer"),
      slow: serverLane("answer"),
      propose: serverLane("propose"),
      sets: JSON.parse(document.getElementById("planner-sets")?.textContent || "[]"),
    };
  }
  const module = await WebAssembly.compile(await unpacked("planner-wasm"));
  const source = document.getElementById("planner-worker").textContent;
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const start = () => {
    const worker = new Worker(address);
    worker.postMessage(module);
    return worker;
  };
  return { server: false, quick: workerLane(start, false), slow: workerLane(start, true), propose: null, sets: [] };
}
