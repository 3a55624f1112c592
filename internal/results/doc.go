// Package results reads and writes folders of results: the manifest, which says how a result was made, pictures with
// their data, verdicts on the paper's statements about its figures, and a page of all results.
package results
