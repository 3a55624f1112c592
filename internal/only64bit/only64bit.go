// Package only64bit does not compile where an int has 32 bits, and does nothing
// elsewhere. Counts of gradient computations, records and bytes go beyond 2^31 and
// are ints: there they would wrap around and give privacy statements that are
// silently wrong. Packages that count import it for that.
package only64bit
