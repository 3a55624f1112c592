#!/usr/bin/env bash
# Passes the tests of the planner page, of the report and of the site in a real browser, with
# the program and the site given: test.sh PROGRAM SITE. Where node or chromium is missing it says so and passes, but where
# PROACTIVEDP_BROWSER_TESTS=required, as in CI.
set -euo pipefail
program=$1 site=$2
cd "$(dirname "$0")"
missing() {
	if [ "${PROACTIVEDP_BROWSER_TESTS:-}" = required ]; then
		echo "test-page: $1 is missing, and the tests must run here" >&2
		exit 1
	fi
	echo "test-page: skipped, needs $1"
	exit 0
}
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || missing "chromium (Debian: chromium)"
command -v node >/dev/null || missing "node (Debian: nodejs)"
command -v npm >/dev/null || missing "npm (Debian: npm)"
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
node build.mjs --check
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
"$program" page --out "$made/planner.html"
PROACTIVEDP_PROGRAM=$program PROACTIVEDP_PAGE=$made/planner.html PROACTIVEDP_CHROMIUM=$chromium \
	PROACTIVEDP_REPORT=$made/report.html PROACTIVEDP_SITE=$site node --test test/
