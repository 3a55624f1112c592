// The report of the committed results and the site in a real browser: for all who read
// them, without errors, and without anything beside them.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { beyond, launched, opened, violations } from "../browser.mjs";

const run = promisify(execFile);
const program = process.env.PROACTIVEDP_PROGRAM,
  report = process.env.PROACTIVEDP_REPORT,
  site = process.env.PROACTIVEDP_SITE;
const results = new URL("../../../results", import.meta.url).pathname;
let browser;

before(async () => {
  browser = await launched();
});

after(async () => {
  await browser?.close();
});

const looks = [
  ["light", {}],
  ["dark", { colorScheme: "dark" }],
  ["phone", { viewport: { width: 390, height: 844 }, isMobile: true }],
];

// examined opens an address offline in every look, and says what is wrong with it. Elements that are alike are
// looked at in the first look only.
async function examined(address, then = async () => {}, first = async () => {}, within = looks, alike = "") {
  for (const [name, options] of within) {
    const page = await opened(browser, address, { offline: true, ...options });
    await first(page, name);
    assert.deepEqual(await violations(page, name === "light" ? "" : alike), [], `${address}, ${name}`);
    const wide = await beyond(page);
    assert.ok(wide <= 0, `${address}, ${name}: ${wide} pixels wider than the window`);
    await then(page, name);
    assert.deepEqual(page.faults, [], `${address}, ${name}`);
    await page.close();
  }
  return within.length;
}

test("the report of the committed results is for all, offline and filtered", { timeout: 300_000 }, async () => {
  // The CPU time, because other work may run beside the tests.
  const timed = 'TIMEFORMAT="%U %S"; time "$@"';
  const { stderr } = await run("bash", ["-c", timed, "report", program, "report", results, "--out", report]);
  const took = stderr.trim().split("\n").at(-1).split(" ").reduce((sum, t) => sum + Number(t), 0);
  const alike = "section[data-words]:nth-of-type(n+16)"; // the first figures are looked at in every look
  let figures = 0,
    found = 0;
  const views = await examined(
    `file://${report}`,
    async (page, name) => {
      figures = await page.locator("section[data-words]").count();
      const broken = await page.evaluate(
        () =>
          [...document.images].filter((i) => {
            i.loading = "eager";
            return !i.src.startsWith("data:");
          }).length,
      );
      assert.equal(broken, 0, "pictures that are not in the page");
      await page.fill("#filter", "mnist epsilon");
      found = await page.locator("section[data-words]:visible").count();
      assert.ok(found >= 1 && found < figures, `${found} of ${figures} figures are found`);
      await page.fill("#filter", "");
      assert.equal(await page.locator("section[data-words]:visible").count(), figures);
      if (name === "phone") {
        await page.emulateMedia({ media: "print" });
        assert.deepEqual(await violations(page, alike), [], "in print");
      }
    },
    async (page, name) => {
      // Rows of data are alike: thirty of each table are looked at in one look, the first three in the others.
      const rows = name === "light" ? 30 : 3;
      await page.evaluate((n) => document.querySelectorAll(`details tr:nth-child(n+${n + 1})`).forEach((r) => r.remove()), rows);
    },
    looks,
    alike,
  );
  const pictures = readdirSync(results).filter((name) => {
    try {
      return statSync(join(results, name, "figure.png")).isFile();
    } catch {
      return false;
    }
  }).length;
  console.log(
    `report: ${statSync(report).size} bytes in ${took.toFixed(2)} s of CPU; ${figures} figures, ${views} views and ` +
      "one in print without a violation",
  );
  assert.ok(figures >= 35 && figures <= pictures, `${figures} figures of ${pictures} folders with pictures`);
  assert.ok(took < 30, `${took} s of CPU to write`); // 3 s are wanted; a loaded processor counts more
});

// pagesOf lists the pages of the site by what they are made from.
function pagesOf(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((e) => {
    const at = join(folder, e.name);
    return e.isDirectory() ? pagesOf(at) : e.name.endsWith(".html") ? [at] : [];
  });
}

// Pages with all that the style has a word on are looked at in every look, the others in one.
const everyLook = ["index.html", "docs/own-table.html", "results/index.html", "examples/index.html"];

// The guides, and one page of each other kind: source files, folders.
test("the pages of the site are for all, and need no script and no network", { timeout: 300_000 }, async () => {
  const all = pagesOf(site)
    .map((at) => relative(site, at))
    .filter((at) => !["planner.html", "report.html"].includes(at));
  const guides = all.filter((at) => /^(docs\/)?[^/]+\.html$/.test(at) && !/\..*\.html$/.test(at));
  const chosen = [
    ...guides,
    "results/index.html",
    "results/tables/index.html",
    "results/bench.html",
    "examples/index.html",
    "models/mlp/mlp.go.html",
  ];
  let views = 0;
  for (const at of chosen) {
    assert.ok(all.includes(at), `the site lacks ${at}`);
    assert.ok(!readFileSync(join(site, at), "utf8").includes("<script"), `${at} has a script`);
    views += await examined(
      `file://${join(site, at)}`,
      async (page) => {
        assert.equal(await page.locator("h1").count(), 1, `${at}: headings of the first level`);
        const small = await page.evaluate(async () => {
          const images = [...document.images];
          for (const i of images) i.loading = "eager";
          await Promise.all(images.map((i) => i.decode().catch(() => {})));
          return images.filter((i) => i.naturalWidth === 0).map((i) => i.src);
        });
        assert.deepEqual(small, [], `${at}: pictures that do not load`);
      },
      undefined,
      everyLook.includes(at) ? looks : looks.slice(0, 1),
    );
  }
  console.log(`site: ${all.length} pages; ${chosen.length} of them in ${views} views without a violation`);
  assert.ok(guides.length >= 16 && all.length >= 40, `${guides.length} guides, ${all.length} pages`);
});

test("from the home page to a plan and a figure by links alone", { timeout: 120_000 }, async () => {
  const page = await opened(browser, `file://${join(site, "index.html")}`, { offline: true });
  const ways = [
    ["Planner", /planner\.html$/, "[data-key=epsilon]"],
    ["Results", /results\/index\.html$/, "td img"],
    ["Report", /report\.html$/, "#verdicts"],
  ];
  for (const [name, address, shows] of ways) {
    await page.goto(`file://${join(site, "index.html")}`);
    await page.click(`header a:text-is("${name}")`);
    await page.waitForURL(address);
    await page.waitForSelector(shows);
  }
  await page.goto(`file://${join(site, "index.html")}`);
  await page.click("main a[href='docs/extend.html']");
  await page.waitForURL(/docs\/extend\.html$/);
  await page.keyboard.press("Tab");
  assert.equal(await page.textContent(":focus"), "To the text");
  assert.deepEqual(page.faults, []);
  await page.close();
});
