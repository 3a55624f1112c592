// A worker of the planner. The first message is the compiled program. Every other one is a
// question; it answers them in order.
const go = new Go();
let ready = null;

self.onmessage = async ({ data }) => {
  if (data instanceof WebAssembly.Module) {
    ready = WebAssembly.instantiate(data, go.importObject).then((instance) => {
      go.run(instance);
      self.postMessage({ ready: true });
    });
    return;
  }
  try {
    await ready;
    self.postMessage({ answer: self.proactivedpAnswer(data) });
  } catch (cause) {
    const problems = [`a fault of this program: ${cause.message || cause}`];
    self.postMessage({ answer: JSON.stringify({ error: { kind: "fault", problems } }) });
  }
};
