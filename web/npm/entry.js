// What charts.js uses of Observable Plot.
export { dot, line, plot, ruleX, text } from "@observablehq/plot";
