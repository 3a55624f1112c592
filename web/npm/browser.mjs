// What the tests share: a browser, pages that count what goes wrong in them, and axe.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// launched starts the browser that PROACTIVEDP_CHROMIUM names.
export function launched() {
  const args = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking"];
  return chromium.launch({ executablePath: process.env.PROACTIVEDP_CHROMIUM, args });
}

// opened returns a page that counts errors, and requests to anything but itself and the
// addresses that begin so.
export async function opened(browser, address, options = {}, allowed = "file://") {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
  page.faults = [];
  page.on("pageerror", (e) => page.faults.push(`error: ${e.message}`));
  page.on("console", (m) => {
    if (["error", "warning"].includes(m.type())) page.faults.push(`console: ${m.text()}`);
  });
  page.on("requestfailed", (r) => {
    const why = r.failure()?.errorText; // what is superseded is given up
    if (why !== "net::ERR_ABORTED") page.faults.push(`failed: ${r.url().slice(0, 200)}: ${why}`);
  });
  page.on("request", (r) => {
    if (!/^(file|blob|data):/.test(r.url()) && !r.url().startsWith(allowed)) page.faults.push(`request: ${r.url()}`);
  });
  await page.goto(address);
  return page;
}

// violations returns what axe finds in a page, but for the elements of a selector.
export async function violations(page, but = "") {
  await page.addScriptTag({ content: axeSource }).catch(() => page.evaluate(axeSource)); // where a policy forbids it
  const found = await page.evaluate(
    (but) => axe.run(but ? { exclude: [[but]] } : document, { resultTypes: ["violations"], preload: false }),
    but,
  );
  return found.violations.map(
    (v) =>
      `${v.id}: ${v.nodes
        .map((n) => n.target.join(" "))
        .join(", ")
        .slice(0, 500)}`,
  );
}

// beyond is how many pixels a page is wider than its window.
export function beyond(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}
