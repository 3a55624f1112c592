package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// writeHouses is "houses FILE N": it writes a table of N drawn houses with their prices.
func writeHouses(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: houses FILE N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	r := rand.New(rand.NewPCG(7, 7))
	var text strings.Builder
	text.WriteString("id,area,rooms,age,garden,price\n")
	for i := range n {
		area, age, garden := 100*math.Exp(0.35*r.NormFloat64()), 100*r.Float64(), "no"
		rooms := math.Max(1, math.Round(area/30+r.NormFloat64()))
		price := 60_000 + 2600*area + 9000*rooms - 900*age + 45_000*r.NormFloat64()
		if r.IntN(5) < 2 {
			garden = "yes"
			price += 35_000
		}
		fmt.Fprintf(&text, "H%d,%.1f,%.0f,%.0f,%s,%.0f\n", i+1, area, rooms, age, garden, price)
	}
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = f.WriteString(text.String())
	ts.Check(err)
	ts.Check(f.Close())
}
