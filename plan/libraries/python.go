package libraries

import (
	_ "embed"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/internal/decimal"
	"proactivedp/internal/message"
)

// The code for each library. Strings keep package embed's file system out of the planner page.
var (
	//go:embed code/private.py
	privateCode string
	//go:embed code/opacus.py
	opacusCode string
	//go:embed code/flower.py
	flowerCode string
	//go:embed code/tfprivacy.py
	tfPrivacyCode string
	//go:embed code/jaxprivacy.py
	jaxPrivacyCode string
)

// writer writes the code for one library: its constants, then the parts.
type writer struct {
	library string
	tried   string
	parts   []string
	// bits is the number of bits of the random numbers that the library compares with the sample
	// rate. The rate is rounded down to a multiple of 2^-bits, so that no record is drawn more
	// often than planned.
	bits    int
	caveats func(r Release) []string
}

// sums says how a step size is carried over to a library that divides by the batch.
const sums = "ProactiveDP multiplies its step size η with the noised SUM of clipped gradients; "

// torchBits are the bits of the numbers of torch.rand, which Opacus compares with the sample rate.
const torchBits = 24

// ownRate says why the code for Opacus does not call make_private, which users of Opacus know.
const ownRate = "PrivacyEngine.make_private computes the sample rate and the expected batch size from the data set: " +
	"one more record changes both, and its ε does not hold for add-or-remove adjacency (Opacus' issues 571 and 819). " +
	"The code does not call it: it uses the parts of Opacus with constants. The sample rate is rounded down to a " +
	"multiple of 2^-24, because Opacus draws with random numbers of 24 bits."

var writers = map[Format]writer{
	Opacus: {
		library: "Opacus 1.5.4", parts: []string{privateCode, opacusCode}, bits: torchBits,
		tried: "run with the public sources of Opacus 1.5.4 and 1.6.0 on Debian's PyTorch 1.13.1, where what they " +
			"import beside it and one process does not use was stood in for",
		caveats: func(r Release) []string {
			return append([]string{
				ownRate,
				sums + "Opacus steps along the noised mean, the sum over the expected batch size. A learning rate " +
					"of η times the expected batch size takes the same steps.",
				"Each record of a batch has a gradient of its own in memory: where that is too little, at_once says " +
					"how many, and the batch is taken in parts.",
				"With one seed two runs share their noise: the code takes a new one from the operating system. " +
					"secure_mode=True is for a release that must withstand more.",
				"Opacus' own ε is for add-or-remove adjacency.",
			}, shared(r)...)
		},
	},
	TFPrivacy: {
		library: "TensorFlow Privacy 0.9.0", parts: []string{tfPrivacyCode},
		tried: "syntax checked, and its event run with the public source of dp_accounting 0.6.0; the training was " +
			"read against the public source of TensorFlow Privacy 0.9.0 and not run",
		caveats: func(r Release) []string {
			return append([]string{
				"The Keras optimizers of TF Privacy take batches of one size as they come. The code draws Poisson " +
					"samples by itself and sums by GaussianSumQuery, record by record: right, and slow.",
				"Those optimizers clip the mean gradient of a microbatch: with num_microbatches below the batch " +
					"size a record can change it by 2C, for which the noise is too small.",
				sums + "so does this code, with step_size = η. For an optimizer that divides by the batch, the " +
					"learning rate is η times the sample size.",
				"tf.random.set_seed must not be called: with one seed two runs share their noise.",
				"A model that keeps averages of records beside its gradients, as batch normalization does, is refused.",
				"TF Privacy 0.9.0 takes Python before 3.12 and TensorFlow up to 2.15.",
				"The event that it prints is for dp_accounting, and proactivedp account --events reads it.",
			}, shared(r)...)
		},
	},
	JAXPrivacy: {
		library: "JAX Privacy 2.2.0", parts: []string{jaxPrivacyCode},
		tried: "syntax checked, and read against the public source of JAX Privacy 2.3.0.dev0 (8967688); not run",
		caveats: func(r Release) []string {
			return append([]string{
				"JAX Privacy's execution plans are experimental and change: the code uses its Poisson samples and " +
					"its clipped gradients, and adds the noise itself.",
				sums + "so does this code, with step_size = η.",
				"Every size of a sample is compiled once; pad samples where that takes too long.",
			}, shared(r)...)
		},
	},
	Flower: {
		library: "Flower 1.28.0 and Opacus 1.5.4", parts: []string{privateCode, flowerCode}, bits: torchBits,
		tried: "syntax checked; its clients' rounds were run with the public sources of Opacus 1.5.4 and 1.6.0 on " +
			"Debian's " +
			"PyTorch 1.13.1; the rest was read against the public source of Flower 1.28.0 (fdef7af) and not run",
		caveats: func(r Release) []string {
			return append([]string{
				"Flower's own wrappers for differential privacy protect a whole CLIENT, and their ε counts clients: " +
					"they are not used. Here each client's rounds are private for its RECORDS, by Opacus.",
				ownRate,
				"A round of Flower is one round of the plan: one Poisson sample and one noised step of every " +
					"client. FedAvg waits for all, where ProactiveDP's clients may run ahead.",
				sums + "Opacus steps along the noised mean: a learning rate of η times the expected batch size " +
					"takes the same steps, and FedAvg divides their sum by the number of clients.",
				"Opacus' own ε is for add-or-remove adjacency, and of one client.",
				"run_simulation needs flwr[simulation], and is deprecated there: flwr run takes the same two apps.",
			}, federated(r))
		},
	},
}

// shared says for how many clients the bound counts.
func shared(r Release) []string {
	if r.Holders <= 1 {
		return nil
	}
	return []string{fmt.Sprintf("The code is one client's. The ε above is of a record that %d clients hold, for the "+
		"rounds of all of them.", r.Holders)}
}

// federated says the same of code that runs all clients, and for which of them it holds.
func federated(r Release) string {
	if r.Holders <= 1 {
		return "The ε above is of a record that ONE client holds. Where clients have records in common each of them " +
			"spends it: plan with --clients and --shared."
	}
	return fmt.Sprintf("The ε above is of a record that %d clients hold, for the rounds of all of them: with more "+
		"CLIENTS it is larger.", r.Holders)
}

func (w writer) write(f Format, r Release) (Code, error) {
	if r.Event.Sampling != dp.Poisson {
		return Code{}, fmt.Errorf("sampling = %q, must be %q for %s: the code draws Poisson samples: %w",
			r.Event.Sampling, dp.Poisson, w.library, dp.ErrNotCovered)
	}
	rate := r.Event.SampleRate()
	if w.bits > 0 {
		rate = math.Ldexp(math.Floor(math.Ldexp(rate, w.bits)), -w.bits)
	}
	if rate == 0 {
		return Code{}, fmt.Errorf("sample rate = %v, must be at least 2^-%d for %s, which draws with "+
			"random numbers of so many bits: %w", r.Event.SampleRate(), w.bits, w.library, dp.ErrNotCovered)
	}
	c := Code{Format: f, Library: w.library, Tried: w.tried, Caveats: w.caveats(r)}
	var text strings.Builder
	fmt.Fprintf(&text, "\"\"\"Private training with %s, as planned by ProactiveDP.\n\n%s\n\n", w.library,
		wrapped(escaped(claim.Noted(claim.Statement(claim.PerRecord, r.Bound, r.all()), r.Notes))))
	fmt.Fprintf(&text, "%s\n\n%s\n\n%s\n", wrapped(holdsFor(r.Event)), wrapped(constantsOf(r.Event)),
		wrapped("Tried: "+w.tried+"."))
	for _, caveat := range c.Caveats {
		fmt.Fprintf(&text, "\n%s\n", wrapped("- "+caveat))
	}
	text.WriteString("\"\"\"\n\n")
	r.constants(&text, rate)
	if f == Flower {
		r.clients(&text)
	}
	for _, part := range w.parts {
		// The imports and constants above the line are for an editor: the code has its own by now.
		_, after, found := strings.Cut(part, "# ---\n")
		if !found {
			return Code{}, fmt.Errorf("the code for %s has no line that ends its constants", w.library)
		}
		text.WriteString(after)
	}
	c.Text = text.String()
	return c, nil
}

// all are the rounds that the bound is of.
func (r Release) all() dp.Event {
	e := r.Event
	e.Count *= max(r.Holders, 1)
	return e
}

// holdsFor says for which batches the ε holds, and for which it does not.
func holdsFor(e dp.Event) string {
	if e.Sampling == dp.Shuffle {
		return "This ε holds for batches that are cut from a new permutation of the records in each epoch, as a " +
			"DataLoader makes them with shuffle=True and drop_last=True."
	}
	return fmt.Sprintf("This ε holds for %s sampling, with every batch drawn anew. It does NOT hold for a DataLoader "+
		"that shuffles (shuffle=True): such batches cost more, see `proactivedp account --sampling shuffle`.",
		e.Sampling)
}

// constantsOf says which constants of the plan the code uses, and what the plan assumes to be
// public.
func constantsOf(e dp.Event) string {
	text := "The sample rate, the expected batch size, the noise and the number of steps are constants of the plan. " +
		"The code never computes them from the data set, so one record more or less changes none of them. "
	if e.DatasetSize == 0 {
		return text + "The plan has a sample rate and no number of records, so EXPECTED_BATCH_SIZE is 1. You may " +
			"replace it with any number that does not come from the data: ε does not depend on it."
	}
	return text + fmt.Sprintf("The plan is for N = %d records. This number is public, because it is in this file.",
		e.DatasetSize)
}

// constants writes the numbers of the release, with the rate that the code samples at.
func (r Release) constants(w *strings.Builder, rate float64) {
	e := r.Event
	size, records := "1", "None"
	if e.DatasetSize != 0 {
		size, records = fmt.Sprint(e.SampleSize), fmt.Sprint(e.DatasetSize)
	}
	for _, c := range []struct{ name, value, is string }{
		{"NOISE_MULTIPLIER", decimal.Exactly(e.NoiseMultiplier), "σ: noise over clipping norm"},
		{"MAX_GRAD_NORM", "1.0", "C: to be chosen, not by looking at private data"},
		{"SAMPLE_RATE", decimal.Exactly(rate), "q: the probability of each record to be in a batch"},
		{"EXPECTED_BATCH_SIZE", size, "s: records of a batch on average; 1 if the plan has only a rate"},
		{"STEPS", fmt.Sprint(e.Count), "T: rounds"},
		{"DELTA", decimal.Exactly(r.Bound.DeltaUpper), "δ"},
		{"DATASET_SIZE", records, "N: only the drawn data at the end has so many records"},
	} {
		fmt.Fprintf(w, "%s = %s  # %s\n", c.name, c.value, c.is)
	}
}

// clients writes how many clients run: all that hold a record, where it is held by several, as
// the bound counts no others.
func (r Release) clients(w *strings.Builder) {
	if r.Holders > 1 {
		fmt.Fprintf(w, "CLIENTS = %d  # all of them hold the same records\n", r.Holders)
		return
	}
	fmt.Fprintln(w, "CLIENTS = 5  # as many as you have, with no record in common")
}

// escaped is text as it stands in a docstring, which it must not end: the names of roots, and
// notes, are whatever a file says.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"""`, `\"\"\"`).Replace(text)
}

// docWidth is the width of the lines of a docstring.
const docWidth = 88

func wrapped(text string) string {
	fits := func(line string) bool { return utf8.RuneCountInString(line) <= docWidth }
	return strings.Join(message.Wrap(text, fits), "\n")
}
