package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"proactivedp/internal/testkit"
)

// TestPublishedDataSets runs every command of docs/datasets.md on files that have the format of the published ones
// and drawn content. Flags for a few steps with much noise follow, which is faster than to look for the noise.
func TestPublishedDataSets(t *testing.T) {
	page, err := os.ReadFile("../../docs/datasets.md")
	if err != nil {
		t.Fatal(err)
	}
	columns, err := filepath.Abs("../../docs/columns")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| ([^|]+) \\|.*\\| `(train [^`]+)` \\|$").FindAllStringSubmatch(string(page), -1)
	if len(rows) < 40 || len(rows) != strings.Count(string(page), "`train ") {
		t.Errorf("%d rows with a command", len(rows))
	}
	t.Chdir(t.TempDir())
	if err := os.CopyFS("docs/columns", os.DirFS(columns)); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, row := range rows {
		t.Run(row[1], func(t *testing.T) {
			args := words(row[2])
			for i, arg := range args {
				if i > 0 && (args[i-1] == "--data" || args[i-1] == "--test") {
					used[arg] = true
					publish(t, arg)
				}
			}
			var out, errs bytes.Buffer
			few := append(args, "--batch-size", "4", "--steps", "2", "--noise-multiplier", "20", "--delta", "1e-5")
			if status := run(context.Background(), few, &out, &errs); status != 0 {
				t.Errorf("exit status %d of %s:\n%s", status, row[2], errs.String())
			}
			if !strings.Contains(out.String(), "ε ≤ 0.") || !strings.Contains(out.String(), " at δ = 1e-05 for a record (") {
				t.Errorf("%s:\n%s", row[2], out.String())
			}
			if large := "as they stand"; strings.Contains(errs.String(), large) {
				t.Errorf("%s:\n%s", row[2], errs.String())
			}
		})
	}
	for name := range published {
		if !used[name] {
			t.Errorf("no command of the page reads %s", name)
		}
	}
}

// words splits a command like a shell.
func words(command string) (all []string) {
	for _, m := range regexp.MustCompile(`'([^']*)'|\S+`).FindAllStringSubmatch(command, -1) {
		if m[1] != "" {
			m[0] = m[1]
		}
		all = append(all, m[0])
	}
	return all
}

// publish writes a file, or a folder of files, as it is published.
func publish(t *testing.T, name string) {
	t.Helper()
	draw, ok := published[name]
	if !ok {
		t.Fatalf("%s is not known", name)
	}
	draws := rand.New(rand.NewPCG(1, uint64(len(name))))
	for name, content := range draw(draws, name) {
		// Package compress does not write bzip2. Files are recognised by their first bytes, and those of bzip2 are
		// read in the tests of data/libsvm.
		if end := filepath.Ext(name); end == ".gz" || end == ".bz2" {
			var packed bytes.Buffer
			z := gzip.NewWriter(&packed)
			if _, err := z.Write(content); err != nil {
				t.Fatal(err)
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			content = packed.Bytes()
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// contents has the content of files.
type contents map[string][]byte

// published draws the files that commands name.
var published = map[string]func(r *rand.Rand, name string) contents{
	"abalone.data": records("", 60, "", func(r *rand.Rand, _ int) []string {
		return slices.Concat(drawn(r, "M F I"), reals(r, 7, "%.4g", 1), ints(r, 1, 1, 29))
	}, ","),
	"adult.data": records("", 60, "\n", adult("<=50K >50K"), ", "),
	"adult.test": records("|1x3 Cross validator\n", 20, "\n", adult("<=50K. >50K."), ", "),
	"auto-mpg.data": func(r *rand.Rand, name string) contents {
		text := "18.0   8   307.0      130.0      3504.      12.0   70  1\t\"chevrolet chevelle malibu\"\n" +
			"25.0   4   98.00      ?          2046.      19.0   71  1\t\"ford pinto\"\n"
		for range 60 {
			text += fmt.Sprintf("%.1f   %d   %.1f      %.2f      %d.      %.1f   %d  %d\t\"drawn car\"\n", 9+37*r.Float64(), 4+2*r.IntN(3),
				68+300*r.Float64(), 46+100*r.Float64(), 1613+r.IntN(3000), 8+16*r.Float64(), 70+r.IntN(13), 1+r.IntN(3))
		}
		return contents{name: []byte(text)}
	},
	"bank-full.csv": records(`"age";"job";"marital";"education";"default";"balance";"housing";"loan";"contact";"day";"month";`+
		`"duration";"campaign";"pdays";"previous";"poutcome";"y"`+"\n", 60, "", func(r *rand.Rand, _ int) []string {
		return slices.Concat(ints(r, 1, 18, 95), quoted(drawn(r, "admin. blue-collar management unknown")),
			quoted(drawn(r, "married single")), quoted(drawn(r, "primary secondary tertiary unknown")), quoted(drawn(r, "no yes")),
			ints(r, 1, -800, 90000), quoted(drawn(r, "no yes")), quoted(drawn(r, "no yes")), quoted(drawn(r, "cellular unknown")),
			ints(r, 1, 1, 31), quoted(drawn(r, "may jun nov")), ints(r, 2, 1, 60), ints(r, 1, -1, 300), ints(r, 1, 0, 9),
			quoted(drawn(r, "unknown failure other success")), quoted(drawn(r, "no yes")))
	}, ";"),
	"housing.data": func(r *rand.Rand, name string) contents {
		var text strings.Builder
		for range 60 {
			fmt.Fprintf(&text, " %.5f  %5.2f  %6.3f  %d  %.4f  %.4f  %5.2f  %.4f  %2d  %5.1f  %5.2f %6.2f  %5.2f  %5.2f\n", r.Float64(),
				100*r.Float64(), 27*r.Float64(), r.IntN(2), r.Float64(), 4+4*r.Float64(), 100*r.Float64(), 10*r.Float64(), 1+r.IntN(24),
				187+500*r.Float64(), 12+10*r.Float64(), 396*r.Float64(), 30*r.Float64(), 5+45*r.Float64())
		}
		return contents{name: []byte(text.String())}
	},
	"breast-cancer-wisconsin.data": records("", 60, "", func(r *rand.Rand, i int) []string {
		row := slices.Concat(ints(r, 1, 61634, 13454352), ints(r, 9, 1, 10), drawn(r, "2 4"))
		if i%20 == 3 {
			row[6] = "?"
		}
		return row
	}, ","),
	"wdbc.data": records("", 60, "", func(r *rand.Rand, _ int) []string {
		return slices.Concat(ints(r, 1, 8670, 911320502), drawn(r, "M B"), reals(r, 30, "%.4g", 100))
	}, ","),
	"housing.csv": records("longitude,latitude,housing_median_age,total_rooms,total_bedrooms,population,households,median_income,"+
		"median_house_value,ocean_proximity\n", 2000, "", func(r *rand.Rand, i int) []string {
		row := slices.Concat([]string{fmt.Sprintf("-%.2f", 114+10*r.Float64()), fmt.Sprintf("%.2f", 32+10*r.Float64())},
			[]string{"41.0"}, reals(r, 4, "%.1f", 5000), reals(r, 1, "%.4f", 15), []string{"452600.0"}, drawn(r, "INLAND,NEAR BAY,<1H OCEAN"))
		if i%10 == 5 {
			row[4] = ""
		}
		return row
	}, ","),
	"car.data": records("", 60, "", func(r *rand.Rand, _ int) []string {
		return slices.Concat(drawn(r, "vhigh high med low"), drawn(r, "vhigh high med low"), drawn(r, "2 3 4 5more"), drawn(r, "2 4 more"),
			drawn(r, "small med big"), drawn(r, "low med high"), drawn(r, "unacc acc good vgood"))
	}, ","),
	"covtype.data.gz": records("", 60, "", func(r *rand.Rand, _ int) []string {
		return slices.Concat(ints(r, 10, 0, 3800), ints(r, 44, 0, 1), ints(r, 1, 1, 7))
	}, ","),
	"default of credit card clients.csv": records(",X1,X2,X3,X4,X5,X6,X7,X8,X9,X10,X11,X12,X13,X14,X15,X16,X17,X18,X19,X20,X21,X22,X23,Y\n"+
		"ID,LIMIT_BAL,SEX,EDUCATION,MARRIAGE,AGE,PAY_0,PAY_2,PAY_3,PAY_4,PAY_5,PAY_6,BILL_AMT1,BILL_AMT2,BILL_AMT3,BILL_AMT4,BILL_AMT5,"+
		"BILL_AMT6,PAY_AMT1,PAY_AMT2,PAY_AMT3,PAY_AMT4,PAY_AMT5,PAY_AMT6,default payment next month\n", 60, "",
		func(r *rand.Rand, i int) []string {
			return slices.Concat([]string{strconv.Itoa(i + 1)}, ints(r, 1, 10000, 800000), ints(r, 3, 1, 3), ints(r, 1, 21, 79),
				ints(r, 6, -2, 8), ints(r, 12, -300, 200000), ints(r, 1, 0, 1))
		}, ","),
	"german.data": records("", 60, "", func(r *rand.Rand, _ int) []string {
		return slices.Concat(drawn(r, "A11 A12 A13 A14"), ints(r, 1, 4, 72), drawn(r, "A30 A32 A34"), drawn(r, "A40 A43 A410"),
			ints(r, 1, 250, 18424), drawn(r, "A61 A65"), drawn(r, "A71 A75"), ints(r, 1, 1, 4), drawn(r, "A91 A93"), drawn(r, "A101 A103"),
			ints(r, 1, 1, 4), drawn(r, "A121 A124"), ints(r, 1, 19, 75), drawn(r, "A141 A143"), drawn(r, "A151 A152"), ints(r, 1, 1, 4),
			drawn(r, "A172 A173"), ints(r, 1, 1, 2), drawn(r, "A191 A192"), drawn(r, "A201 A202"), drawn(r, "1 2"))
	}, " "),
	"processed.cleveland.data": records("", 60, "", func(r *rand.Rand, i int) []string {
		row := slices.Concat(reals(r, 11, "%.1f", 200), drawn(r, "0.0 1.0 2.0"), drawn(r, "3.0 6.0 7.0"), ints(r, 1, 0, 4))
		if i%20 == 3 {
			row[11], row[12] = "?", "?"
		}
		return row
	}, ","),
	"HIGGS.csv.gz": records("", 60, "", scientific(28), ","),
	"SUSY.csv.gz":  records("", 60, "", scientific(18), ","),
	"iris.data": records("", 60, "\n", func(r *rand.Rand, _ int) []string {
		return slices.Concat(reals(r, 4, "%.1f", 8), drawn(r, "Iris-setosa Iris-versicolor Iris-virginica"))
	}, ","),
	"isolet1+2+3+4.data": records("", 60, "", isolet, ", "),
	"isolet5.data":       records("", 20, "", isolet, ", "),
	"kddcup.data_10_percent.gz": records("", 60, "", func(r *rand.Rand, _ int) []string {
		return append(connection(r), drawn(r, "normal. smurf. neptune. guess_passwd.")...)
	}, ","),
	"KDDTrain+.txt": records("", 60, "", func(r *rand.Rand, _ int) []string {
		return slices.Concat(connection(r), drawn(r, "normal neptune"), ints(r, 1, 0, 21))
	}, ","),
	"KDDTest+.txt": records("", 20, "", func(r *rand.Rand, _ int) []string {
		return slices.Concat(connection(r), drawn(r, "normal mscan"), ints(r, 1, 0, 21)) // mscan is in no training set
	}, ","),
	"letter-recognition.data": records("", 60, "", func(r *rand.Rand, _ int) []string {
		return append([]string{string(rune('A' + r.IntN(26)))}, ints(r, 16, 0, 15)...)
	}, ","),
	"agaricus-lepiota.data": records("", 60, "", func(r *rand.Rand, _ int) []string {
		row := drawn(r, "e p")
		for range 22 {
			row = append(row, drawn(r, "b c x f k s n g y p ? u w")...)
		}
		return row
	}, ","),
	"optdigits.tra": records("", 60, "", optical, ","),
	"optdigits.tes": records("", 20, "", optical, ","),
	"pendigits.tra": records("", 60, "", pens, ","),
	"pendigits.tes": records("", 20, "", pens, ","),
	"spambase.data": records("", 60, "", func(r *rand.Rand, _ int) []string {
		return slices.Concat(reals(r, 54, "%.3g", 4), reals(r, 1, "%.4g", 9), ints(r, 2, 1, 900), ints(r, 1, 0, 1))
	}, ","),
	"WA_Fn-UseC_-Telco-Customer-Churn.csv": records("customerID,gender,SeniorCitizen,Partner,Dependents,tenure,PhoneService,MultipleLines,"+
		"InternetService,OnlineSecurity,OnlineBackup,DeviceProtection,TechSupport,StreamingTV,StreamingMovies,Contract,PaperlessBilling,"+
		"PaymentMethod,MonthlyCharges,TotalCharges,Churn\n", 60, "", func(r *rand.Rand, i int) []string {
		row := slices.Concat([]string{fmt.Sprintf("%04d-VHVEG", i)}, drawn(r, "Female Male"), ints(r, 1, 0, 1), drawn(r, "Yes No"),
			drawn(r, "Yes No"), ints(r, 1, 0, 72), drawn(r, "Yes No"), drawn(r, "No phone service,No,Yes"), drawn(r, "DSL,Fiber optic,No"))
		for range 6 {
			row = append(row, drawn(r, "No internet service,No,Yes")...)
		}
		row = slices.Concat(row, drawn(r, "Month-to-month,One year,Two year"), drawn(r, "Yes No"), drawn(r, "Electronic check,Mailed check"),
			reals(r, 2, "%.2f", 100), drawn(r, "Yes No"))
		if i%20 == 3 {
			row[19] = " "
		}
		return row
	}, ","),
	"train.csv": records("PassengerId,Survived,Pclass,Name,Sex,Age,SibSp,Parch,Ticket,Fare,Cabin,Embarked\r\n", 60, "",
		func(r *rand.Rand, i int) []string {
			row := slices.Concat([]string{strconv.Itoa(i + 1)}, ints(r, 1, 0, 1), ints(r, 1, 1, 3),
				[]string{`"Drawn, Mrs. Ada (Eva ""Evie"" Drawn)"`}, drawn(r, "male female"), ints(r, 1, 1, 80), ints(r, 2, 0, 3),
				drawn(r, "A/5 21171,PC 17599,113803"), reals(r, 1, "%.4f", 512), []string{""}, drawn(r, "S C Q"))
			if i%10 == 4 {
				row[5], row[10], row[11] = "", "C85", ""
			}
			return row
		}, ","),
	"wine.data": records("", 60, "", func(r *rand.Rand, _ int) []string {
		return slices.Concat(ints(r, 1, 1, 3), reals(r, 12, "%.3g", 30), ints(r, 1, 278, 1680))
	}, ","),
	"winequality-red.csv": records(`"fixed acidity";"volatile acidity";"citric acid";"residual sugar";"chlorides";"free sulfur dioxide";`+
		`"total sulfur dioxide";"density";"pH";"sulphates";"alcohol";"quality"`+"\n", 60, "", func(r *rand.Rand, _ int) []string {
		return slices.Concat(reals(r, 11, "%.4g", 15), ints(r, 1, 3, 8))
	}, ";"),
	"digits.csv.gz": records("", 60, "", func(r *rand.Rand, _ int) []string {
		row := make([]string, 65)
		for i := range row {
			row[i] = fmt.Sprintf("%.18e", float64(r.IntN(10)))
		}
		return row
	}, ","),

	"a9a":                             sparse(60, 123, 14, false, "-1 +1", "1"),
	"a9a.t":                           sparse(20, 123, 14, false, "-1 +1", "1"),
	"w8a":                             sparse(60, 300, 12, false, "-1 +1", "1"),
	"w8a.t":                           sparse(20, 300, 12, false, "-1 +1", "1"),
	"cod-rna":                         sparse(60, 8, 8, false, "-1 1", "-713"),
	"cod-rna.t":                       sparse(20, 8, 8, false, "-1 1", "55"),
	"covtype.libsvm.binary.scale.bz2": sparse(60, 54, 12, false, "1 2", "0.262631"),
	"epsilon_normalized.bz2":          sparse(12, 2000, 2000, true, "-1 1", "-0.0108282"),
	"epsilon_normalized.t.bz2":        sparse(4, 2000, 2000, true, "-1 1", "0.0196"),
	"gisette_scale.bz2":               sparse(12, 5000, 4900, true, "-1 +1", "-0.9979"),
	"gisette_scale.t.bz2":             sparse(4, 5000, 4900, true, "-1 +1", "0.1"),
	"ijcnn1.bz2":                      sparse(60, 22, 13, false, "-1 1", "-0.731854"),
	"ijcnn1.t.bz2":                    sparse(20, 22, 13, false, "-1.0 1.0", "-0.57"),
	"news20.binary.bz2":               sparse(60, 1355191, 80, false, "+1 -1", "0.0163"),
	"rcv1_train.binary.bz2":           sparse(60, 47236, 70, false, "1 -1", "0.016563"),
	"real-sim.bz2":                    sparse(60, 20958, 50, false, "1 -1", "0.0313"),

	"MNIST/raw": func(r *rand.Rand, name string) contents {
		return both(idx(r, name+"/train", "", 60, 0, 9), idx(r, name+"/t10k", "", 20, 0, 9))
	},
	"FashionMNIST/raw": func(r *rand.Rand, name string) contents { // torchvision keeps both forms
		all := both(idx(r, name+"/train", "", 60, 0, 9), idx(r, name+"/t10k", "", 20, 0, 9))
		for _, file := range []string{"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"} {
			all[name+"/"+file+".gz"] = all[name+"/"+file]
		}
		return all
	},
	"kmnist/train-images-idx3-ubyte.gz": func(r *rand.Rand, _ string) contents { return idx(r, "kmnist/train", ".gz", 60, 0, 9) },
	"kmnist-train-imgs.npz":             func(r *rand.Rand, _ string) contents { return pair(r, "kmnist-train", 60) },
	"kmnist-test-imgs.npz":              func(r *rand.Rand, _ string) contents { return pair(r, "kmnist-test", 20) },
	"emnist-letters-train-images-idx3-ubyte.gz": func(r *rand.Rand, _ string) contents {
		return idx(r, "emnist-letters-train", ".gz", 60, 1, 26)
	},
	"cifar-10-batches-bin": func(r *rand.Rand, name string) contents {
		all := contents{name + "/batches.meta.txt": []byte("airplane\nautomobile\n"), name + "/readme.html": []byte("<html></html>")}
		for i := range 5 {
			all[fmt.Sprintf("%s/data_batch_%d.bin", name, i+1)] = pictures(r, 8, 10)
		}
		all[name+"/test_batch.bin"] = pictures(r, 8, 10)
		return all
	},
	"cifar-100-binary": func(r *rand.Rand, name string) contents {
		return contents{name + "/coarse_label_names.txt": []byte("fish\n"), name + "/fine_label_names.txt": []byte("apple\n"),
			name + "/train.bin": pictures(r, 40, 20, 100), name + "/test.bin": pictures(r, 8, 20, 100)}
	},
	"pneumoniamnist.npz": func(r *rand.Rand, name string) contents {
		var members []testkit.Member
		for part, n := range map[string]int{"train": 40, "val": 8, "test": 8} {
			images, labels := make([]uint8, n*28*28), make([]uint8, n)
			for i := range images {
				images[i] = uint8(r.IntN(256))
			}
			for i := range labels {
				labels[i] = uint8(i % 2)
			}
			members = append(members, testkit.Member{Name: part + "_images", Content: testkit.Of("|u1", []int{n, 28, 28}, images...).Bytes()},
				testkit.Member{Name: part + "_labels", Content: testkit.Of("|u1", []int{n, 1}, labels...).Bytes()})
		}
		archive, err := testkit.Archive(true, members...)
		if err != nil {
			panic(err)
		}
		return contents{name: archive}
	},
	"digits/train.csv": records("label,"+strings.Join(numbered("pixel", 784), ",")+"\n", 60, "", func(r *rand.Rand, _ int) []string {
		return append(ints(r, 1, 0, 9), ints(r, 784, 0, 255)...)
	}, ","),
}

// pair returns an archive of n images and one of their labels, with the array arr_0 in each.
func pair(r *rand.Rand, name string, n int) contents {
	images, labels := make([]uint8, n*28*28), make([]uint8, n)
	for i := range images {
		images[i] = uint8(r.IntN(256))
	}
	for i := range labels {
		labels[i] = uint8(i % 10)
	}
	all := contents{}
	for end, a := range map[string]testkit.Array{
		"-imgs.npz": testkit.Of("|u1", []int{n, 28, 28}, images...), "-labels.npz": testkit.Of("|u1", []int{n}, labels...),
	} {
		archive, err := testkit.Archive(true, testkit.Member{Name: "arr_0", Content: a.Bytes()})
		if err != nil {
			panic(err)
		}
		all[name+end] = archive
	}
	return all
}

// records returns a table of n rows with the given first lines and end.
func records(first string, n int, end string, row func(r *rand.Rand, i int) []string, comma string) func(*rand.Rand, string) contents {
	return func(r *rand.Rand, name string) contents {
		text := first
		for i := range n {
			text += strings.Join(row(r, i), comma) + "\n"
		}
		return contents{name: []byte(text + end)}
	}
}

// sparse returns n rows in LIBSVM's format, whose lines end in a blank, as in the published files.
func sparse(n, features, entries int, dense bool, labels, value string) func(*rand.Rand, string) contents {
	return func(r *rand.Rand, name string) contents {
		var text strings.Builder
		for range n {
			text.WriteString(drawn(r, labels)[0])
			index := 0
			for k := range entries {
				step := features/entries - 1
				if index++; !dense && step > 0 {
					index += r.IntN(step)
				}
				if dense || k%3 > 0 || step > 0 {
					fmt.Fprintf(&text, " %d:%s", index, value)
				} else {
					fmt.Fprintf(&text, " %d:%.6f", index, r.Float64())
				}
			}
			text.WriteString(" \n")
		}
		return contents{name: []byte(text.String())}
	}
}

// idx returns a pair of IDX files of images of 28×28 and their labels.
func idx(r *rand.Rand, name, end string, n, lowest, highest int) contents {
	images := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte{0, 0, 8, 3}, uint32(n)), 28)
	images = binary.BigEndian.AppendUint32(images, 28)
	labels := binary.BigEndian.AppendUint32([]byte{0, 0, 8, 1}, uint32(n))
	for range n {
		for range 28 * 28 {
			images = append(images, byte(r.IntN(256)))
		}
		labels = append(labels, byte(lowest+r.IntN(highest-lowest+1)))
	}
	return contents{name + "-images-idx3-ubyte" + end: images, name + "-labels-idx1-ubyte" + end: labels}
}

func both(a, b contents) contents {
	for name, content := range b {
		a[name] = content
	}
	return a
}

// pictures returns records of CIFAR, with a label for each number of classes.
func pictures(r *rand.Rand, n int, classes ...int) (out []byte) {
	for range n {
		for _, c := range classes {
			out = append(out, byte(r.IntN(c)))
		}
		for range 3 * 32 * 32 {
			out = append(out, byte(r.IntN(256)))
		}
	}
	return out
}

func adult(labels string) func(r *rand.Rand, i int) []string {
	return func(r *rand.Rand, i int) []string {
		row := slices.Concat(ints(r, 1, 17, 90), drawn(r, "Private State-gov Self-emp-not-inc"), ints(r, 1, 12285, 1484705),
			drawn(r, "Bachelors HS-grad 11th"), ints(r, 1, 1, 16), drawn(r, "Never-married Married-civ-spouse Married-AF-spouse"),
			drawn(r, "Adm-clerical Sales Priv-house-serv"), drawn(r, "Not-in-family Husband Wife"), drawn(r, "White Black"), drawn(r, "Male Female"),
			drawn(r, "0 0 2174 99999"), drawn(r, "0 0 1902"), ints(r, 1, 1, 99), drawn(r, "United-States Cuba"), drawn(r, labels))
		if i%7 == 3 {
			row[1], row[6], row[13] = "?", "?", "?"
		}
		return row
	}
}

func scientific(features int) func(r *rand.Rand, i int) []string {
	return func(r *rand.Rand, _ int) []string {
		row := []string{fmt.Sprintf("%.18e", float64(r.IntN(2)))}
		for range features {
			row = append(row, fmt.Sprintf("%.18e", r.NormFloat64()))
		}
		return row
	}
}

func isolet(r *rand.Rand, _ int) []string {
	row := make([]string, 617)
	for i := range row {
		row[i] = fmt.Sprintf("%.4f", 2*r.Float64()-1)
	}
	return append(row, strconv.Itoa(1+r.IntN(26))+".")
}

// connection returns the 41 features of a connection of KDD Cup 99.
func connection(r *rand.Rand) []string {
	return slices.Concat(ints(r, 1, 0, 58329), drawn(r, "tcp udp icmp"), drawn(r, "http private ecr_i X11"), drawn(r, "SF S0 OTH"),
		ints(r, 2, 0, 693375640), ints(r, 16, 0, 1), ints(r, 2, 0, 511), reals(r, 7, "%.2f", 1), ints(r, 2, 0, 255), reals(r, 8, "%.2f", 1))
}

func optical(r *rand.Rand, _ int) []string { return append(ints(r, 64, 0, 16), ints(r, 1, 0, 9)...) }

func pens(r *rand.Rand, _ int) []string {
	row := make([]string, 16)
	for i := range row {
		row[i] = fmt.Sprintf("%3d", r.IntN(101))
	}
	return append(row, " "+strconv.Itoa(r.IntN(10)))
}

// drawn draws one of the texts in a list that is separated by commas or, without commas, by blanks.
func drawn(r *rand.Rand, list string) []string {
	texts := strings.Fields(list)
	if strings.Contains(list, ",") {
		texts = strings.Split(list, ",")
	}
	return []string{texts[r.IntN(len(texts))]}
}

func quoted(texts []string) []string { return []string{`"` + texts[0] + `"`} }

func ints(r *rand.Rand, n, low, high int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = strconv.Itoa(low + r.IntN(high-low+1))
	}
	return out
}

func reals(r *rand.Rand, n int, format string, high float64) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(format, high*r.Float64())
	}
	return out
}

func numbered(name string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = name + strconv.Itoa(i)
	}
	return out
}
