// Package results has the folder of a result and what is made of many: the manifest that says how a
// result was made, the writing of pictures with their data, the verdicts on what the paper states of
// its figures, and the page of all results.
package results
