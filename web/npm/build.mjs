// Writes ../static/plot.js: the parts of Observable Plot and d3 that charts.js uses, as one
// script, with the licences of all packages that are in it. "--check" compares instead: the
// committed file is what the locked packages give.
import { build } from "esbuild";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "..", "static", "plot.js");

const result = await build({
  absWorkingDir: here,
  entryPoints: ["entry.js"],
  bundle: true,
  minify: true,
  format: "iife",
  globalName: "Plot",
  target: "es2022",
  legalComments: "none",
  write: false,
  metafile: true,
  charset: "utf8",
  logLevel: "error",
});

const packages = new Set();
for (const [file, input] of Object.entries(result.metafile.outputs[Object.keys(result.metafile.outputs)[0]].inputs)) {
  const found = file.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//);
  if (found && input.bytesInOutput > 0) packages.add(found[1]);
}
if (packages.size < 5) throw new Error(`only ${packages.size} packages are in the bundle`);
const licences = [...packages].sort().map((name) => {
  const folder = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((f) => /^(licen[cs]e|copying)/i.test(f));
  if (!file) throw new Error(`${name} ${version} states no licence`);
  const text = readFileSync(join(folder, file), "utf8").replace(/\r\n/g, "\n").trim();
  return `---- ${name} ${version} (${license})\n\n${text}\n`;
});
const stated = licences.join("\n").replaceAll("*/", "* /");
const banner = `/*! Made by web/npm/build.mjs of these packages, whose licences follow.\n\n${stated}*/\n`;
const text = banner + result.outputFiles[0].text;
if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== text) {
    console.error("web/static/plot.js is not what the locked packages give: npm run build in web/npm");
    process.exit(1);
  }
  console.log(`web/static/plot.js is what ${packages.size} locked packages give`);
} else {
  writeFileSync(target, text);
  console.log(`web/static/plot.js: ${text.length} characters of ${packages.size} packages`);
}
